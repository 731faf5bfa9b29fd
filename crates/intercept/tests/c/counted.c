/* A known number of calls: per rank 3 sends, 3 receives, 5 nonblocking pairs, 4 barriers, 2 sums,
   1 duplicate with an attribute whose callback calls MPI. */
#include <mpi.h>
#include <stdio.h>

static int forget(MPI_Comm comm, int keyval, void *value, void *extra)
{
    int rank;
    (void)keyval; (void)value; (void)extra;
    return MPI_Comm_rank(comm, &rank); /* inside MPI_Comm_free: not a call of the application */
}

int main(int argc, char **argv)
{
    int rank, size, in = 0, all = 0, keyval;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    if (size == 1) /* a blocking send to oneself may wait for ever */
        right = left = MPI_PROC_NULL;
    for (int i = 0; i < 3; i++) {
        MPI_Send(&rank, 1, MPI_INT, right, i, MPI_COMM_WORLD);
        MPI_Recv(&in, 1, MPI_INT, left, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < 5; i++) {
        MPI_Request requests[2];
        MPI_Irecv(&in, 1, MPI_INT, left, 9, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(&rank, 1, MPI_INT, right, 9, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    for (int i = 0; i < 4; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 2; i++)
        MPI_Allreduce(&rank, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &keyval, NULL);
    MPI_Comm_set_attr(copy, keyval, &all);
    MPI_Comm_free(&copy);
#if MPI_VERSION >= 4
    MPI_Send_c(&rank, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
#endif
    printf("%d %d %d\n", rank, size == 1 || in == left, all);
    MPI_Finalize();
    return 0;
}
