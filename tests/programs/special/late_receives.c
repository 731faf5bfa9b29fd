/* Rank 0 sends N bytes to rank 1 in each step and then computes. Rank 1 first waits for rank 2, which computes, too, and receives late.
 *
 *   late_receives N STEPS MICROSECONDS          a send that waits for its receive makes a step twice as long
 *   late_receives N STEPS MICROSECONDS even     nobody sends or waits: nothing makes it faster
 *
 * Computing is sleeping, so that it takes the same on busy processors. Three ranks; more of them idle.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, bytes = argc > 1 ? atoi(argv[1]) : 6000, steps = argc > 2 ? atoi(argv[2]) : 15;
    int pause = argc > 3 ? atoi(argv[3]) : 20000, even = argc > 4;
    char *buffer = calloc(1, bytes + 1), token = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int step = 0; step < steps; step++) {
        if (even) {
            usleep(pause);
        } else if (rank == 0) {
            MPI_Send(buffer, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
            usleep(pause);
        } else if (rank == 1) {
            MPI_Recv(&token, 1, MPI_CHAR, 2, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Recv(buffer, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (rank == 2) {
            usleep(pause);
            MPI_Send(&token, 1, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (rank == 0)
        puts("OK");
    MPI_Finalize();
    return 0;
}
