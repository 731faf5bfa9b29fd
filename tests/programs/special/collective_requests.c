/* Collective operations with requests, and among neighbours, on three processes, with sizes that distinguish them. */
#include "../check.h"

enum { N = 3 };

int main(int argc, char **argv)
{
    int out[8 * N] = {0}, in[8 * N] = {0}, rank, flag, size = N, open_ended = 0, counts[N] = {1, 2, 3}, places[N] = {0, 8, 16},
        from[2] = {2, 1};
    MPI_Comm named, row;
    MPI_Request request, both[2];
    MPI_Init(&argc, &argv);
    rank = world_rank();
    REQUIRE(world_size() == N);
    MPI_Comm_dup(MPI_COMM_WORLD, &named);
    MPI_Comm_set_name(named, "the halo");

    /* Rank 0 comes only when the others have tested in vain. */
    if (rank == 0)
        for (int other = 1; other < N; other++)
            MPI_Recv(in, 0, MPI_INT, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Ibarrier(named, &request);
    if (rank != 0) {
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        REQUIRE(!flag);
        MPI_Send(out, 0, MPI_INT, 0, 0, MPI_COMM_WORLD);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);

    MPI_Ibcast(out, 2, MPI_INT, 1, named, &both[0]);
    MPI_Iallreduce(out, in, 4, MPI_INT, MPI_SUM, named, &both[1]);
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
    MPI_Igatherv(out, counts[rank], MPI_INT, in, counts, places, MPI_INT, 2, named, &request);
    do
        MPI_Testall(1, &request, &flag, MPI_STATUSES_IGNORE);
    while (!flag);

    /* Both are complete at once: an MPI may give both the same request. */
    MPI_Ibcast(out, 2, MPI_INT, 0, MPI_COMM_SELF, &both[0]);
    MPI_Iallreduce(out, in, 4, MPI_INT, MPI_SUM, MPI_COMM_SELF, &both[1]);
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);

    /* The middle one has two neighbours, the others one. */
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &open_ended, 0, &row);
    MPI_Comm_set_name(row, "the row");
    MPI_Neighbor_allgather(out, 2, MPI_INT, in, 2, MPI_INT, row);
    MPI_Ineighbor_alltoallv(out, counts, places, MPI_INT, in, from, places, MPI_INT, row, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
#if MPI_VERSION >= 4
    MPI_Bcast_init(out, 5, MPI_INT, 0, row, MPI_INFO_NULL, &request);
    for (int round = 0; round < 2; round++) {
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        /* Not started: nothing completes. */
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
#endif
    MPI_Comm_free(&row);
    MPI_Comm_free(&named);
    return finish();
}
