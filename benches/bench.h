/* What the two measuring programs share: their argument, the median of repeated measurements, and under which conditions
 * they run.
 *
 * Two processors of a virtual machine can be neighbours now, far apart a second later, two halves of one core, or halves
 * of cores that somebody else uses: what a message costs differs by a factor of three between such states. So each run
 * measures, before and after, what a cache line takes from one processor to the other, how fast each computes, and how
 * much they slow each other down.
 */
#ifndef BENCH_H
#define BENCH_H

#define _DEFAULT_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

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

static double now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

/* A line of memory that both ranks share; NULL where there is none. */
static volatile int *shared_line(int rank)
{
    static volatile int *line;
    static char name[64];
    if (line != NULL)
        return line;
    int file = -1;
    if (rank == 0) {
        snprintf(name, sizeof name, "/dev/shm/mel-bench-%ld", (long)getpid());
        file = open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
        if (file >= 0 && ftruncate(file, 4096) != 0)
            fprintf(stderr, "%s cannot be made larger\n", name);
    }
    MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (rank != 0)
        file = open(name, O_RDWR);
    int here = file >= 0, everywhere = 0;
    MPI_Allreduce(&here, &everywhere, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (rank == 0)
        unlink(name);
    if (everywhere) {
        void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        line = memory == MAP_FAILED ? NULL : memory;
    }
    if (file >= 0)
        close(file);
    return line;
}

/* What a line takes one way, in ns: both ranks together. */
static double line_ns(int rank)
{
    enum { TURNS = 4000 };
    volatile int *line = shared_line(rank);
    int here = line != NULL, everywhere = 0;
    MPI_Allreduce(&here, &everywhere, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (!everywhere)
        return 0;
    if (rank == 0)
        *line = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = now_ns();
    for (int turn = 0; turn < TURNS; turn++) {
        while (__atomic_load_n(line, __ATOMIC_ACQUIRE) != 2 * turn + rank)
            ;
        __atomic_store_n(line, 2 * turn + rank + 1, __ATOMIC_RELEASE);
    }
    double ns = (now_ns() - begin) / (2.0 * TURNS);
    MPI_Barrier(MPI_COMM_WORLD);
    return ns;
}

/* What eight multiplications take, in ns. */
static double work_ns(void)
{
    enum { STEPS = 4000 };
    double times[REPETITIONS];
    static volatile uint64_t result;
    for (int repetition = 0; repetition < REPETITIONS; repetition++) {
        uint64_t x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
        double begin = now_ns();
        for (int step = 0; step < STEPS; step++)
            for (int i = 0; i < 8; i++)
                x[i] = x[i] * UINT64_C(6364136223846793005) + (x[i] >> 7);
        times[repetition] = (now_ns() - begin) / STEPS;
        result = x[0] ^ x[1] ^ x[2] ^ x[3] ^ x[4] ^ x[5] ^ x[6] ^ x[7];
    }
    (void)result;
    return median(times);
}

/* Prints under which conditions the program runs: to be called before and after what is measured. */
static void tell_conditions(int rank)
{
    double line = line_ns(rank), times[2], slowest[2];
    MPI_Barrier(MPI_COMM_WORLD);
    times[0] = work_ns();
    /* Each alone, while the other one sleeps. */
    for (int turn = 0; turn < 2; turn++) {
        MPI_Barrier(MPI_COMM_WORLD);
        usleep(turn == rank ? 1000 : 5000);
        if (turn == rank)
            times[1] = work_ns();
    }
    MPI_Reduce(times, slowest, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("conditions line_ns %.1f work_ns %.2f slowdown %.2f\n", line, slowest[1], slowest[0] / slowest[1]);
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
    tell_conditions(rank);
    return rank;
}

static void finish(int rank)
{
    tell_conditions(rank);
    MPI_Finalize();
}

#endif
