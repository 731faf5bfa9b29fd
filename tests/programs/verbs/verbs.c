/* A program whose MPI library posts work requests, as far as MEL can see: a module of such a name does, which is opened while the program
 * runs, for nobody else to see. The program posts some itself, which are nobody's business. Two ranks; MEL_INFINIBAND leads to a
 * folder with a folder for each rank. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct transport {
    void *of[4];
};

#define CHECK(what) do { if (!(what)) { fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what); exit(1); } } while (0)

int main(int argc, char **argv)
{
    const char *rank_of[] = {getenv("OMPI_COMM_WORLD_RANK"), getenv("PMI_RANK")};
    const char *number = rank_of[0] ? rank_of[0] : rank_of[1];
    char folder[4096];
    CHECK(argc > 1 && number);
    snprintf(folder, sizeof folder, "%s/%s", getenv("MEL_INFINIBAND"), number);
    setenv("MEL_INFINIBAND", folder, 1);
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    void *module = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!module) fprintf(stderr, "%s\n", dlerror());
    CHECK(module);
    void (*transport_open)(struct transport *, int) = (void (*)(struct transport *, int))dlsym(module, "transport_open");
    void (*transport_connect)(struct transport *, int, const void *) =
        (void (*)(struct transport *, int, const void *))dlsym(module, "transport_connect");
    int (*transport_post)(struct transport *, int, int, char *, unsigned, int) =
        (int (*)(struct transport *, int, int, char *, unsigned, int))dlsym(module, "transport_post");
    void (*transport_close)(struct transport *) = (void (*)(struct transport *))dlsym(module, "transport_close");
    void (*mock_totals)(long *, long *) = (void (*)(long *, long *))dlsym(module, "mock_totals");
    CHECK(transport_open && transport_connect && transport_post && transport_close && mock_totals);
    struct transport by_lid, by_gid;
    static char data[1 << 16];
    unsigned char gid[16] = {[10] = 0xff, [11] = 0xff, [12] = 10, [15] = rank ? 1 : 2};
    transport_open(&by_lid, 0);
    transport_connect(&by_lid, rank ? 4 : 5, NULL);
    transport_open(&by_gid, 1);
    transport_connect(&by_gid, 0, gid);
    printf("data %d %lu\n", rank, (unsigned long)data);
    fflush(stdout);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        CHECK(transport_post(&by_lid, IBV_WR_RDMA_WRITE, 0, data, 1000, 1) == 0);
        CHECK(transport_post(&by_lid, IBV_WR_SEND_WITH_IMM, 0, data, 300, 2) == 0);
        CHECK(transport_post(&by_lid, IBV_WR_RDMA_READ, 0, data, 4000, 1) == 0);
        CHECK(transport_post(&by_lid, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, data, 8, 1) == 0);
        CHECK(transport_post(&by_lid, IBV_WR_LOCAL_INV, 0, data, 0, 1) == 0);
        /* Nine of twelve are accepted. */
        CHECK(transport_post(&by_lid, IBV_WR_SEND, 1, data, 10, 12) == ENOMEM);
        CHECK(transport_post(&by_gid, IBV_WR_RDMA_WRITE_WITH_IMM, 0, data, 20000, 3) == 0);
        long requests, bytes;
        mock_totals(&requests, &bytes);
        CHECK(requests == 1 + 2 + 1 + 1 + 1 + 9 + 3 && bytes == 1000 + 600 + 4000 + 8 + 90 + 60000);
    }
    transport_close(&by_lid);
    transport_close(&by_gid);
    /* The program's own. */
    struct ibv_context *(*open)(struct ibv_device *) = (struct ibv_context * (*)(struct ibv_device *))dlsym(RTLD_DEFAULT, "ibv_open_device");
    struct ibv_device *(*device)(int) = (struct ibv_device * (*)(int))dlsym(module, "mock_device");
    if (open) {
        struct ibv_context *context = open(device(0));
        struct ibv_qp qp;
        struct ibv_sge piece = {(uintptr_t)data, 7777, 0};
        struct ibv_send_wr wr, *bad;
        CHECK(context);
        memset(&qp, 0, sizeof qp);
        memset(&wr, 0, sizeof wr);
        qp.context = context;
        wr.opcode = IBV_WR_SEND;
        wr.sg_list = &piece;
        wr.num_sge = 1;
        CHECK(ibv_post_send(&qp, &wr, &bad) == 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    printf("done %d\n", rank);
    MPI_Finalize();
    return 0;
}
