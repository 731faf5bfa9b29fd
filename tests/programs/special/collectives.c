/* Every blocking collective operation once, on three processes, with sizes that distinguish them. */
#include "../check.h"

enum { N = 3 };

int main(int argc, char **argv)
{
    int out[8 * N] = {0}, in[8 * N] = {0}, rank, counts[N] = {1, 2, 3}, places[N] = {0, 8, 16}, bytes[N];
    int ones[N] = {1, 1, 1};
    MPI_Datatype types[N];
    MPI_Comm named, part, pair;
    MPI_Init(&argc, &argv);
    rank = world_rank();
    REQUIRE(world_size() == N);
    for (int i = 0; i < N; i++) {
        types[i] = MPI_INT;
        bytes[i] = places[i] * (int)sizeof(int);
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &named);
    MPI_Comm_set_name(named, "the halo");

    MPI_Barrier(named);
    MPI_Bcast(out, 2, MPI_INT, 1, named);
    MPI_Gather(out, 2, MPI_INT, in, 2, MPI_INT, 1, named);
    MPI_Gather(rank == 0 ? MPI_IN_PLACE : out, 2, MPI_INT, in, 2, MPI_INT, 0, named);
    MPI_Gatherv(out, counts[rank], MPI_INT, in, counts, places, MPI_INT, 2, named);
    MPI_Scatter(out, 3, MPI_INT, in, 3, MPI_INT, 0, named);
    MPI_Scatterv(out, counts, places, MPI_INT, in, counts[rank], MPI_INT, 2, named);
    MPI_Allgather(out, 1, MPI_DOUBLE, in, 1, MPI_DOUBLE, named);
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_INT, in, counts, places, MPI_INT, named);
    MPI_Alltoall(out, 2, MPI_INT, in, 2, MPI_INT, named);
    MPI_Alltoallv(out, ones, places, MPI_INT, in, ones, places, MPI_INT, named);
    MPI_Alltoallw(out, ones, bytes, types, in, ones, bytes, types, named);
    MPI_Reduce(out, in, 4, MPI_INT, MPI_SUM, 2, named);
    MPI_Allreduce(MPI_IN_PLACE, in, 4, MPI_INT, MPI_SUM, named);
    MPI_Reduce_scatter(out, in, counts, MPI_INT, MPI_SUM, named);
    MPI_Reduce_scatter_block(out, in, 2, MPI_INT, MPI_SUM, named);
    MPI_Scan(out, in, 1, MPI_INT, MPI_SUM, named);
    MPI_Exscan(out, in, 1, MPI_INT, MPI_SUM, named);

    /* Rank 0 on one side, the others on the other; rank 0 is the root. */
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0, rank, &part);
    MPI_Intercomm_create(part, 0, MPI_COMM_WORLD, rank == 0 ? 1 : 0, 0, &pair);
    MPI_Bcast(out, 5, MPI_INT, rank == 0 ? MPI_ROOT : 0, pair);

    MPI_Comm_free(&pair);
    MPI_Comm_free(&part);
    MPI_Comm_free(&named);
    return finish();
}
