/* How long single messages take: an 8-byte message goes to the other rank and back, again and again, and each time is kept.
 *
 * Prints half of a round trip in nanoseconds: the median, the 99th and the 99.9th percentile.
 */
#include "bench.h"

int main(int argc, char **argv)
{
    long iterations = 200000;
    int rank = start(&argc, &argv, &iterations);
    double *times = calloc((size_t)iterations, sizeof *times);
    long long payload = 0;

    if (!times)
        MPI_Abort(MPI_COMM_WORLD, 2);
    /* The first tenth warms up, and is overwritten. */
    for (long i = -iterations / 10; i < iterations; i++) {
        double begin = now_ns();
        if (rank == 0)
            MPI_Send(&payload, 8, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
        MPI_Recv(&payload, 8, MPI_BYTE, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(&payload, 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
        times[i < 0 ? 0 : i] = (now_ns() - begin) / 2;
    }
    qsort(times, (size_t)iterations, sizeof times[0], compare_doubles);
    if (rank == 0)
        printf("half %.1f p99 %.1f p99.9 %.1f\n", times[iterations / 2], times[iterations / 100 * 99], times[iterations / 1000 * 999]);
    free(times);
    finish(rank);
    return 0;
}
