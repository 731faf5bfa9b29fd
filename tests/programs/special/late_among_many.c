/* Each rank sends to the next one, and all add up; rank 5 sleeps before. Processes that sleep need no processor, so that there may be many
 * more of them than processors. Argument: steps (10). */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv)
{
    int rank, size, steps = argc > 1 ? atoi(argv[1]) : 10, data = 0, sum = 0;
    const struct timespec late = {.tv_sec = 0, .tv_nsec = 100000000};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int step = 0; step < steps; step++) {
        if (rank == 5)
            nanosleep(&late, NULL);
        MPI_Request request;
        MPI_Isend(&rank, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD, &request);
        MPI_Recv(&data, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    if (rank == 0)
        puts("OK");
    return 0;
}
