/* What the programs with a planted problem share, and the healthy ones: the time that a rank has something else to do.
 *
 * A rank that works sleeps, so that ranks without a processor of their own do not disturb each other. Where a sleep takes
 * longer than it should, the next ones are shorter: what is planted is there in the sum. At the end each rank prints what it
 * was to work and what it has worked, and what it and all processes of the machine have used of the processors: on a machine
 * that is busy with something else, other times are lost than were planted.
 */
#ifndef PLANTED_H
#define PLANTED_H

#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* A message of this many bytes needs an answer of its receiver, on every MPI. */
enum { LARGE = 1 << 20 };

static int rank, size;
static double planned_s, worked_s, began_s, used_s, all_used_s;

static inline double now_s(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* What this process has used of the processors. */
static inline double used_until_now_s(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/* What all processes have: all states of the processors but idle and waiting for a disk. */
static inline double all_used_until_now_s(void)
{
    unsigned long long states[8] = {0}, used = 0;
    FILE *file = fopen("/proc/stat", "r");
    if (file == NULL)
        return 0;
    int found = fscanf(file, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &states[0], &states[1], &states[2], &states[3],
                       &states[4], &states[5], &states[6], &states[7]);
    fclose(file);
    for (int state = 0; state < found; state++)
        used += state == 3 || state == 4 ? 0 : states[state];
    return (double)used / (double)sysconf(_SC_CLK_TCK);
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

/* Uses a processor for so many milliseconds: between tests, who sleeps polls. */
static inline void compute(double ms)
{
    double until = now_s() + 1e-3 * ms;
    while (now_s() < until)
        continue;
}

/* From here on it counts what is used of the processors. */
static inline void start_watch(void)
{
    began_s = now_s();
    used_s = used_until_now_s();
    all_used_s = all_used_until_now_s();
}

/* All ranks begin at the same time. */
static inline void begin_together(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    start_watch();
    MPI_Barrier(MPI_COMM_WORLD);
}

static inline int end(void)
{
    printf("rank %d worked %.6f of %.6f s, used %.6f of %.6f s in %.6f s\n", rank, worked_s, planned_s,
           used_until_now_s() - used_s, all_used_until_now_s() - all_used_s, now_s() - began_s);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}

#endif
