/* Prints for each rank the processors that it may use: `RANK: PROCESSOR PROCESSOR ...`, a line each, by rank 0.
 * Expected: nothing of its own; whoever starts it knows where it has bound the ranks. */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    cpu_set_t mine, other;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (sched_getaffinity(0, sizeof mine, &mine) != 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    if (rank != 0)
        MPI_Send(&mine, sizeof mine, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    for (int from = 0; rank == 0 && from < size; from++) {
        memcpy(&other, &mine, sizeof mine);
        if (from != 0)
            MPI_Recv(&other, sizeof other, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        printf("%d:", from);
        for (int processor = 0; processor < CPU_SETSIZE; processor++)
            if (CPU_ISSET(processor, &other))
                printf(" %d", processor);
        printf("\n");
    }
    MPI_Finalize();
    return 0;
}
