/* Stands for a module of an MPI library that moves data by verbs: its file has the name of one. */
#include <infiniband/verbs.h>
#include <stddef.h>
#include <string.h>

extern struct ibv_device *mock_device(int number);

struct transport {
    struct ibv_pd *domain;
    struct ibv_qp *qp, *datagrams;
    struct ibv_ah *handle;
};

static struct ibv_qp *queue(struct ibv_pd *domain, enum ibv_qp_type type)
{
    struct ibv_qp_init_attr how;
    memset(&how, 0, sizeof how);
    how.qp_type = type;
    return ibv_create_qp(domain, &how);
}

void transport_open(struct transport *t, int device)
{
    t->domain = ibv_alloc_pd(ibv_open_device(mock_device(device)));
    t->qp = queue(t->domain, IBV_QPT_RC);
    t->datagrams = queue(t->domain, IBV_QPT_UD);
}

/* Both ways lead to this LID, or where it is 0 to this GID, over port 1. */
void transport_connect(struct transport *t, int lid, const void *gid)
{
    struct ibv_qp_attr how;
    memset(&how, 0, sizeof how);
    how.qp_state = IBV_QPS_RTR;
    how.ah_attr.dlid = lid;
    how.ah_attr.port_num = 1;
    if (!lid) {
        how.ah_attr.is_global = 1;
        how.ah_attr.grh.sgid_index = 1;
        memcpy(&how.ah_attr.grh.dgid, gid, 16);
    }
    how.dest_qp_num = 77;
    ibv_modify_qp(t->qp, &how, IBV_QP_STATE | IBV_QP_AV | IBV_QP_DEST_QPN);
    t->handle = ibv_create_ah(t->domain, &how.ah_attr);
}

/* Posts so many requests of this kind at once, each of two pieces that have so many bytes together. Returns what the driver returns. */
int transport_post(struct transport *t, int opcode, int datagram, char *data, unsigned size, int count)
{
    struct ibv_sge pieces[2];
    struct ibv_send_wr wrs[64], *bad = NULL;
    memset(pieces, 0, sizeof pieces);
    memset(wrs, 0, sizeof wrs);
    pieces[0].addr = (uintptr_t)data;
    pieces[0].length = size / 4;
    pieces[1].addr = (uintptr_t)data + size / 4;
    pieces[1].length = size - size / 4;
    for (int i = 0; i < count; i++) {
        wrs[i].opcode = opcode;
        wrs[i].sg_list = pieces;
        wrs[i].num_sge = 2;
        wrs[i].next = i + 1 < count ? &wrs[i + 1] : NULL;
        if (datagram) wrs[i].wr.ud.ah = t->handle;
        else wrs[i].wr.rdma.remote_addr = 0x1234000;
    }
    return ibv_post_send(datagram ? t->datagrams : t->qp, wrs, &bad);
}

void transport_close(struct transport *t)
{
    ibv_destroy_ah(t->handle);
    ibv_destroy_qp(t->qp);
    ibv_destroy_qp(t->datagrams);
}
