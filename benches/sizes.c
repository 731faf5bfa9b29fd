/* Messages of a size from each rank to its partner and back, for matrix.py.
 *
 * sizes MILLISECONDS BYTES...: prints a line `BYTES NANOSECONDS` for each size: one exchange (MPI_Sendrecv between rank r and r ^ 1), the
 * median of several repetitions of so many milliseconds together. The number of ranks is even. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { REPETITIONS = 7, FIRST = 20 };

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double exchanges(char *out, char *in, int bytes, int partner, long times)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    for (long i = 0; i < times; i++)
        MPI_Sendrecv(out, bytes, MPI_CHAR, partner, 1, in, bytes, MPI_CHAR, partner, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    double took = (MPI_Wtime() - begin) / (double)times;
    MPI_Bcast(&took, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    return took;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double seconds = argc > 1 ? atof(argv[1]) / 1000 / REPETITIONS : 0.01;
    for (int i = 2; i < argc; i++) {
        int bytes = atoi(argv[i]);
        char *out = calloc(1, (size_t)bytes + 1), *in = calloc(1, (size_t)bytes + 1);
        if (!out || !in)
            MPI_Abort(MPI_COMM_WORLD, 1);
        long times = (long)(seconds / exchanges(out, in, bytes, rank ^ 1, FIRST)) + 1;
        double took[REPETITIONS];
        for (int repetition = 0; repetition < REPETITIONS; repetition++)
            took[repetition] = exchanges(out, in, bytes, rank ^ 1, times);
        qsort(took, REPETITIONS, sizeof *took, compare);
        if (rank == 0)
            printf("%d %.1f\n", bytes, took[REPETITIONS / 2] * 1e9);
        free(out);
        free(in);
    }
    MPI_Finalize();
    return 0;
}
