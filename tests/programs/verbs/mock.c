/* Stands for libibverbs and a driver: devices, queue pairs and address handles that only remember what they are told. What is posted is
 * counted, and refused from the 10th request of one call on. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdlib.h>
#include <string.h>

static struct ibv_device devices[2] = {{.name = "mock_0"}, {.name = "mock_1"}};
static long posted, bytes;

static int post(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    (void)qp;
    for (int count = 0; wr; wr = wr->next, count++) {
        if (count == 9) {
            *bad = wr;
            return ENOMEM;
        }
        posted++;
        for (int i = 0; i < wr->num_sge; i++) bytes += wr->sg_list[i].length;
    }
    return 0;
}

/* What the driver has got in all. */
void mock_totals(long *requests, long *sum)
{
    *requests = posted;
    *sum = bytes;
}

struct ibv_device *mock_device(int number)
{
    return &devices[number];
}

/* As the library has it, behind a macro of the header. */
#undef ibv_open_device
struct ibv_context *ibv_open_device(struct ibv_device *device)
{
    struct ibv_context *context = calloc(1, sizeof *context);
    context->device = device;
    context->ops.post_send = post;
    return context;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
    struct ibv_pd *domain = calloc(1, sizeof *domain);
    domain->context = context;
    return domain;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *domain, struct ibv_qp_init_attr *how)
{
    static uint32_t number = 100;
    struct ibv_qp *qp = calloc(1, sizeof *qp);
    qp->context = domain->context;
    qp->qp_num = number++;
    qp->qp_type = how->qp_type;
    return qp;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *how, int mask)
{
    if (mask & IBV_QP_STATE) qp->state = how->qp_state;
    return 0;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
    free(qp);
    return 0;
}

struct ibv_ah *ibv_create_ah(struct ibv_pd *domain, struct ibv_ah_attr *where)
{
    struct ibv_ah *handle = calloc(1, sizeof *handle);
    (void)where;
    handle->context = domain->context;
    return handle;
}

int ibv_destroy_ah(struct ibv_ah *handle)
{
    free(handle);
    return 0;
}
