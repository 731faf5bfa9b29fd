/* Latency of a collective operation of 8 bytes, which two ranks call again and again.
 *
 *   collectives MPI_Allreduce|MPI_Bcast|MPI_Alltoall [ITERATIONS]
 *
 * Prints the time of one call in nanoseconds: the median of several repetitions of ITERATIONS calls each. The first
 * repetition warms up and does not count. The ranks take turns as the root of MPI_Bcast, so that none runs ahead.
 */
#include "bench.h"

#include <string.h>

static void calls(const char *function, int iterations)
{
    double out[2] = {1, 2}, in[2];
    int whole[2] = {1, 2}, parts[2];
    if (strcmp(function, "MPI_Allreduce") == 0) {
        for (int i = 0; i < iterations; i++)
            MPI_Allreduce(out, in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    } else if (strcmp(function, "MPI_Bcast") == 0) {
        for (int i = 0; i < iterations; i++)
            MPI_Bcast(out, 1, MPI_DOUBLE, i % 2, MPI_COMM_WORLD);
    } else if (strcmp(function, "MPI_Alltoall") == 0) {
        for (int i = 0; i < iterations; i++)
            MPI_Alltoall(whole, 1, MPI_INT, parts, 1, MPI_INT, MPI_COMM_WORLD);
    } else {
        fprintf(stderr, "collectives: %s is not measured\n", function);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
}

int main(int argc, char **argv)
{
    long iterations = 5000;
    double nanoseconds[REPETITIONS];
    const char *function = argc > 1 ? argv[1] : "nothing";
    if (argc > 1) {
        argc--;
        argv++;
    }
    int rank = start(&argc, &argv, &iterations);

    for (int repetition = -1; repetition < REPETITIONS; repetition++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = MPI_Wtime();
        calls(function, (int)iterations);
        double seconds = MPI_Wtime() - begin;
        if (repetition >= 0)
            nanoseconds[repetition] = seconds * 1e9 / (double)iterations;
    }
    if (rank == 0)
        printf("call_ns %.2f\n", median(nanoseconds));
    finish(rank);
    return 0;
}
