/* Several causes, one that moves, one that happens once, and none. */
#include "verdicts.h"

/* All meet in a barrier, each after so many milliseconds. A rank is late in a step where it works for the longest time. */
static void meet_after(double mine, double longest)
{
    work(mine);
    if (mine == longest)
        COMES(MPI_Barrier(MPI_COMM_WORLD)); /* line MEET */
    else
        WAITS(MPI_Barrier(MPI_COMM_WORLD)); /* line MEET */
}

/* Ranks 1 and 2 are late in turn. */
static void alternate(void)
{
    for (step = 0; step < 24; step++)
        meet_after(rank == 1 + step % 2 ? ms : 0, ms);
}

/* The two highest ranks are late together. */
static void group(void)
{
    EACH_STEP meet_after(rank >= size - 2 ? ms : 0, ms);
}

/* Another rank in each step. */
static void moving(void)
{
    for (step = 0; step < 4 * size; step++)
        meet_after(rank == step % size ? ms : 0, ms);
}

/* Once, for long. */
static void stall(void)
{
    for (step = 0; step < 40; step++) {
        double mine = rank == late && step == 20 ? ms : 2;
        work(mine);
        if (step == 20)
            MEETS(MPI_Barrier(MPI_COMM_WORLD)); /* line STALL */
        else
            MPI_Barrier(MPI_COMM_WORLD); /* line OTHER_STEPS */
    }
}

/* The last rank has too little to do. */
static void too_little(void)
{
    EACH_STEP {
        double mine = rank == size - 1 ? 1 : ms;
        work(mine);
        if (rank == size - 1)
            WAITS(MPI_Barrier(MPI_COMM_WORLD)); /* line TOO_LITTLE */
        else
            COMES(MPI_Barrier(MPI_COMM_WORLD)); /* line TOO_LITTLE */
    }
}

/* Each rank works for a random time. */
static void random_work(void)
{
    unsigned seed = 12345u + 7919u * (unsigned)rank;
    for (step = 0; step < 3 * STEPS; step++) {
        seed = seed * 1103515245u + 12345u;
        work(ms * (double)(seed >> 16 & 0x7fff) / 32768);
        note(now_s(), 0);
        WAITS(MPI_Barrier(MPI_COMM_WORLD)); /* line RANDOM */
    }
}

/* Two models with a communicator each, which exchange at the end of a step: the second one is slow, both of its ranks. */
static void coupled(void)
{
    MPI_Comm model;
    double out = 1, in, other = 0;
    int is_slow = rank >= size / 2;
    MPI_Comm_split(MPI_COMM_WORLD, is_slow, rank, &model);
    EACH_STEP {
        work(is_slow ? ms : 1);
        MPI_Allreduce(&out, &in, 1, MPI_DOUBLE, MPI_SUM, model); /* line MODEL */
        int peer = (rank + size / 2) % size;
        if (is_slow)
            COMES(MPI_Sendrecv(&in, 1, MPI_DOUBLE, peer, 0, &other, 1, MPI_DOUBLE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)); /* line COUPLE */
        else
            WAITS(MPI_Sendrecv(&in, 1, MPI_DOUBLE, peer, 0, &other, 1, MPI_DOUBLE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)); /* line COUPLE */
    }
    MPI_Comm_free(&model);
}

/* A part that only one rank can do, before all get what it has made. */
static void serial_part(void)
{
    int value = 0;
    EACH_STEP {
        work(2);
        late_works();
        MEETS(MPI_Bcast(&value, 1, MPI_INT, late, MPI_COMM_WORLD)); /* line SERIAL */
    }
}

/* One rank is late to one operation, and another one to the next. */
static void two_lines(void)
{
    EACH_STEP {
        if (rank == 1)
            work(ms);
        if (rank == 1)
            COMES(MPI_Barrier(MPI_COMM_WORLD)); /* line FIRST */
        else
            WAITS(MPI_Barrier(MPI_COMM_WORLD)); /* line FIRST */
        if (rank == 2)
            work(ms);
        int out = 1, in;
        MPI_Allreduce(&out, &in, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* line SECOND */
    }
}

/* Healthy: all do as much. */
static void alike(void)
{
    EACH_STEP {
        int out = 1, in;
        work(10);
        MPI_Allreduce(&out, &in, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
}

static void alone(void)
{
    work(200);
}

/* Barriers and nothing else. */
static void barriers(void)
{
    for (step = 0; step < 100000; step++)
        MPI_Barrier(MPI_COMM_WORLD);
}

PROBLEMS({"alternate", alternate}, {"group", group}, {"moving", moving}, {"stall", stall}, {"too_little", too_little},
         {"random_work", random_work}, {"coupled", coupled}, {"serial_part", serial_part}, {"two_lines", two_lines},
         {"alike", alike}, {"alone", alone}, {"barriers", barriers})
