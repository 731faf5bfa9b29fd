/* Each rank gives a part of its field to its right neighbour, which works as long as the MPI stores the messages.
 *
 *   hangs COUNT [mended]      COUNT numbers in a message
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void pass_on(double *mine, double *theirs, int count, int rank, int size)
{
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    MPI_Send(mine, count, MPI_DOUBLE, right, 0, MPI_COMM_WORLD);
    MPI_Recv(theirs, count, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void exchange(double *mine, double *theirs, int count, int rank, int size)
{
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    MPI_Sendrecv(mine, count, MPI_DOUBLE, right, 0, theirs, count, MPI_DOUBLE, left, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size, count = argc > 1 ? atoi(argv[1]) : 100;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double *mine = calloc((size_t)count, sizeof *mine), *theirs = calloc((size_t)count, sizeof *theirs);
    for (int step = 0; step < 20; step++) {
        if (argc > 2)
            exchange(mine, theirs, count, rank, size);
        else
            pass_on(mine, theirs, count, rank, size);
    }
    if (rank == 0)
        printf("done\n");
    free(mine);
    free(theirs);
    MPI_Finalize();
    return 0;
}
