/* What the two measuring programs share: their argument, and the median of repeated measurements. */
#ifndef BENCH_H
#define BENCH_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

/* Each measurement is repeated, and the median taken: an interruption spoils one repetition, not the result. */
enum { REPETITIONS = 21 };

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double values[REPETITIONS])
{
    qsort(values, REPETITIONS, sizeof values[0], compare_doubles);
    return values[REPETITIONS / 2];
}

/* Reads the number of iterations, and checks that there are two ranks; returns this rank. */
static int start(int *argc, char ***argv, long *iterations)
{
    int rank, size;
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (*argc > 1)
        *iterations = atol((*argv)[1]);
    if (size != 2 || *iterations < 1) {
        if (rank == 0)
            fprintf(stderr, "usage: mpirun -n 2 %s [ITERATIONS]\n", (*argv)[0]);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    return rank;
}

#endif
