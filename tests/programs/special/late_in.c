/* Rank 0 comes 20 ms late to what its argument names, and rank 1 waits for it: the cause is rank 0, at that line. What ranks do
 * together makes an object, moves data to a neighbour or to the other group, or has large counts. */
#include "../planted/planted.h"

enum { STEPS = 20 };

static const char *wanted;

static int is(const char *name)
{
    return strcmp(wanted, name) == 0;
}

/* One group for each rank. */
static MPI_Comm between_groups(void)
{
    MPI_Comm between;
    MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, 1 - rank, 0, &between);
    return between;
}

static void late_in_objects(void)
{
    MPI_Comm comm;
    MPI_Win window;
    double memory = 0;
    for (int step = 0; step < STEPS; step++) {
        if (rank == 0)
            work(20);
        if (is("MPI_Comm_dup")) {
            MPI_Comm_dup(MPI_COMM_WORLD, &comm); /* line MPI_Comm_dup */
            MPI_Comm_free(&comm);
        } else {
            MPI_Win_create(&memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window); /* line MPI_Win_create */
            MPI_Win_free(&window);
        }
    }
}

static void late_in_neighbours(void)
{
    MPI_Comm ring;
    double out[2] = {1, 2}, in[2];
    MPI_Cart_create(MPI_COMM_WORLD, 1, (int[]){2}, (int[]){1}, 0, &ring);
    for (int step = 0; step < STEPS; step++) {
        if (rank == 0)
            work(20);
        MPI_Neighbor_alltoall(out, 1, MPI_DOUBLE, in, 1, MPI_DOUBLE, ring); /* line MPI_Neighbor_alltoall */
    }
}

static void late_between_groups(void)
{
    MPI_Comm between = between_groups();
    double out = 1, in;
    for (int step = 0; step < STEPS; step++) {
        if (rank == 0)
            work(20);
        MPI_Allreduce(&out, &in, 1, MPI_DOUBLE, MPI_SUM, between); /* line MPI_Allreduce */
    }
}

#if MPI_VERSION >= 4
static void late_in_large_counts(void)
{
    double value = 1;
    MPI_Request request;
    for (int step = 0; step < STEPS; step++) {
        if (rank == 0)
            work(20);
        if (is("MPI_Bcast_c")) {
            MPI_Bcast_c(&value, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD); /* line MPI_Bcast_c */
        } else if (rank == 0) {
            MPI_Recv(&value, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* line MPI_Recv */
        } else {
            MPI_Issend_c(&value, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE); /* line MPI_Wait */
        }
    }
}
#endif

int main(int argc, char **argv)
{
    begin_together(&argc, &argv);
    wanted = argv[1];
    if (is("MPI_Comm_dup") || is("MPI_Win_create"))
        late_in_objects();
    else if (is("MPI_Neighbor_alltoall"))
        late_in_neighbours();
    else if (is("MPI_Allreduce"))
        late_between_groups();
#if MPI_VERSION >= 4
    else if (is("MPI_Bcast_c") || is("MPI_Issend_c"))
        late_in_large_counts();
#endif
    else
        MPI_Abort(MPI_COMM_WORLD, 1);
    return end();
}
