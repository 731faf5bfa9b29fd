/* What the programs with a planted problem share, and the healthy ones: the time that a rank has something else to do.
 *
 * A rank that works sleeps, so that ranks without a processor of their own do not disturb each other. Where a sleep takes
 * longer than it should, the next ones are shorter: what is planted is there in the sum. At the end each rank prints what it
 * was to work and what it has worked; where the two differ, the machine was too busy to keep the time planted.
 */
#ifndef PLANTED_H
#define PLANTED_H

#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A message of this many bytes needs an answer of its receiver, on every MPI. */
enum { LARGE = 1 << 20 };

static int rank, size;
static double planned_s, worked_s;

static inline double now_s(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Works for so many milliseconds. One thread of a rank may. */
static inline void work(double ms)
{
    double begin = now_s();
    planned_s += 1e-3 * ms;
    double left = planned_s - worked_s;
    if (left > 0) {
        struct timespec time = {(time_t)left, (long)(1e9 * (left - (double)(time_t)left))};
        nanosleep(&time, NULL);
    }
    worked_s += now_s() - begin;
}

/* All ranks begin at the same time. */
static inline void begin_together(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier(MPI_COMM_WORLD);
}

static inline int end(void)
{
    printf("rank %d worked %.6f of %.6f s\n", rank, worked_s, planned_s);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}

#endif
