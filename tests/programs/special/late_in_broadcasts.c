/* In each step one rank comes late to a broadcast of N bytes, while the others compute after it: where a tree leads over the late
 * rank, those behind it begin late, and the step takes twice as long.
 *
 *   late_in_broadcasts N STEPS MICROSECONDS LATE
 *
 * Computing is sleeping, so that it takes the same on busy processors.
 */
#define _DEFAULT_SOURCE /* usleep */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, bytes = argc > 1 ? atoi(argv[1]) : 4000, steps = argc > 2 ? atoi(argv[2]) : 15;
    int pause = argc > 3 ? atoi(argv[3]) : 20000, late = argc > 4 ? atoi(argv[4]) : 1;
    char *buffer = calloc(1, bytes + 1);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int step = 0; step < steps; step++) {
        if (rank == late)
            usleep(pause);
        MPI_Bcast(buffer, bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
        if (rank != 0 && rank != late)
            usleep(pause);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (rank == 0)
        puts("OK");
    MPI_Finalize();
    return 0;
}
