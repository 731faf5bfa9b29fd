/* What the programs share whose verdicts are judged, the planted ones and the healthy ones: each source has several problems, and the
 * arguments say which one, which rank is late, and by how many milliseconds.
 *
 * A program measures what is really lost: WAITS notes from when until when a rank was in a call that waits, COMES when the late rank
 * came to its own. At the end each rank prints what it has noted, by which the harness counts the time lost. */
#ifndef VERDICTS_H
#define VERDICTS_H

#include "../planted/planted.h"

enum { STEPS = 10, NOTED = 4096 };

struct problem {
    const char *name;
    void (*run)(void);
};

static int late = -1, step;
static double ms;
static struct {
    int step;
    double since, until;
} noted[NOTED];
static int count;

static inline void note(double since, double until)
{
    if (count < NOTED) {
        noted[count].step = step;
        noted[count].since = since;
        noted[count++].until = until;
    }
}

/* A call that waits for the late rank, once in a step. */
#define WAITS(call)            \
    do {                       \
        double since = now_s(); \
        call;                  \
        note(since, now_s());  \
    } while (0)

/* The call of the late rank for which the others wait. */
#define COMES(call)       \
    do {                  \
        note(now_s(), 0); \
        call;             \
    } while (0)

/* The call that all ranks make, the late one too. */
#define MEETS(call)             \
    do {                        \
        if (rank == late)       \
            COMES(call);        \
        else                    \
            WAITS(call);        \
    } while (0)

#define EACH_STEP for (step = 0; step < STEPS; step++)

static inline void late_works(void)
{
    if (rank == late)
        work(ms);
}

/* For so many microseconds, less than a second: no work, but a pause between two polls. */
static inline void nap(long us)
{
    struct timespec time = {0, 1000 * us};
    nanosleep(&time, NULL);
}

/* Ends a step, so that nobody begins the next one early. */
static inline void meet(void)
{
    MPI_Barrier(MPI_COMM_WORLD); /* line MEETING */
}

static inline void *zeros(size_t bytes)
{
    void *memory = calloc(1, bytes);
    if (memory == NULL)
        exit(2);
    return memory;
}

static inline int run_one_of(const struct problem *problems, size_t number, int argc, char **argv)
{
    const struct problem *chosen = NULL;
    begin_together(&argc, &argv);
    for (size_t place = 0; place < number && argc > 1; place++)
        if (strcmp(problems[place].name, argv[1]) == 0)
            chosen = &problems[place];
    if (chosen == NULL) {
        fprintf(stderr, "no such problem\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
        return 2;
    }
    late = argc > 2 ? atoi(argv[2]) : -1;
    ms = argc > 3 ? atof(argv[3]) : 20;
    chosen->run();
    for (int place = 0; place < count; place++)
        if (noted[place].until > 0)
            printf("waits %d %.6f %.6f\n", noted[place].step, noted[place].since, noted[place].until);
        else
            printf("comes %d %.6f\n", noted[place].step, noted[place].since);
    return end();
}

#define PROBLEMS(...)                                                                 \
    int main(int argc, char **argv)                                                   \
    {                                                                                 \
        static const struct problem problems[] = {__VA_ARGS__};                       \
        return run_one_of(problems, sizeof problems / sizeof *problems, argc, argv); \
    }

#endif
