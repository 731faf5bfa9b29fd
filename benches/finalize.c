/* What the end of a run costs: messages around a ring, then MPI_Finalize. Rank 0 prints the seconds that it takes there and the
 * most memory that it has had, in KiB. benches/finalize.py runs it.
 *
 * Arguments: number of messages of each rank.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* The most that was resident, in KiB. */
static long peak(void)
{
    char line[256];
    long value = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "VmHWM:", 6) == 0)
            value = strtol(line + 6, NULL, 10);
    if (file)
        fclose(file);
    return value;
}

int main(int argc, char **argv)
{
    int rank, size, data = 0, messages = argc > 1 ? atoi(argv[1]) : 1000;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    /* Pairs of ranks, so that no rank waits for a far one: ranks share processors here. */
    int peer = rank ^ 1;
    for (int message = 0; peer < size && message < messages; message++) {
        if (rank < peer)
            MPI_Send(&data, 1, MPI_INT, peer, message % 8, MPI_COMM_WORLD);
        else
            MPI_Recv(&data, 1, MPI_INT, peer, message % 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    double before = now();
    long at_first = peak();
    MPI_Finalize();
    if (rank == 0)
        printf("finalize %.3f before %ld after %ld\n", now() - before, at_first, peak());
    return 0;
}
