/* One rank is late to an operation of all, and who needs its data waits: the root, the others, or who passes data on. */
#include "verdicts.h"

enum { SOME = 1, MANY = 1 << 18 };

static double *out, *in;
static int root;

/* Room for so many doubles from each rank. */
static void room(size_t number)
{
    out = zeros(number * (size_t)size * sizeof *out);
    in = zeros(number * (size_t)size * sizeof *in);
}

#define LATE_TO(call)              \
    EACH_STEP {                    \
        late_works();              \
        MEETS(call);               \
        meet();                      \
    }

static void barrier(void)
{
    EACH_STEP {
        late_works();
        MEETS(MPI_Barrier(MPI_COMM_WORLD)); /* line BARRIER */
    }
}

static void bcast(void)
{
    room(SOME);
    root = late;
    LATE_TO(MPI_Bcast(out, SOME, MPI_DOUBLE, root, MPI_COMM_WORLD)); /* line BCAST */
}

/* A member that passes on a small broadcast is late: who gets it from there waits, in some trees, and all wait in the barrier. */
static void forwards(void)
{
    room(SOME);
    root = 0;
    EACH_STEP {
        late_works();
        if (rank == late)
            note(now_s(), 0);
        double since = now_s();
        MPI_Bcast(out, SOME, MPI_DOUBLE, root, MPI_COMM_WORLD); /* line FORWARDS */
        MPI_Barrier(MPI_COMM_WORLD);                            /* line AFTER_FORWARDS */
        if (rank != late)
            note(since, now_s());
    }
}

/* Whoever has the data goes on: the root waits for the late member where data is large. */
static void bcast_large(void)
{
    room(4 * MANY);
    root = 0;
    LATE_TO(MPI_Bcast(out, 4 * MANY, MPI_DOUBLE, root, MPI_COMM_WORLD)); /* line BCAST_LARGE */
}

static void scatter(void)
{
    room(SOME);
    root = late;
    LATE_TO(MPI_Scatter(out, SOME, MPI_DOUBLE, in, SOME, MPI_DOUBLE, root, MPI_COMM_WORLD)); /* line SCATTER */
}

static void scatter_large(void)
{
    room(MANY);
    root = 0;
    LATE_TO(MPI_Scatter(out, MANY, MPI_DOUBLE, in, MANY, MPI_DOUBLE, root, MPI_COMM_WORLD)); /* line SCATTER_LARGE */
}

static void gather(void)
{
    room(SOME);
    root = 0;
    LATE_TO(MPI_Gather(out, SOME, MPI_DOUBLE, in, SOME, MPI_DOUBLE, root, MPI_COMM_WORLD)); /* line GATHER */
}

static void gather_late_root(void)
{
    room(MANY);
    root = late;
    LATE_TO(MPI_Gather(out, MANY, MPI_DOUBLE, in, MANY, MPI_DOUBLE, root, MPI_COMM_WORLD)); /* line GATHER_ROOT */
}

static void reduce(void)
{
    room(SOME);
    root = 0;
    LATE_TO(MPI_Reduce(out, in, SOME, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD)); /* line REDUCE */
}

static void reduce_late_root(void)
{
    room(2 * MANY);
    root = late;
    LATE_TO(MPI_Reduce(out, in, 2 * MANY, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD)); /* line REDUCE_ROOT */
}

static void allreduce(void)
{
    room(SOME);
    LATE_TO(MPI_Allreduce(out, in, SOME, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD)); /* line ALLREDUCE */
}

static void allgather(void)
{
    room(SOME);
    LATE_TO(MPI_Allgather(out, SOME, MPI_DOUBLE, in, SOME, MPI_DOUBLE, MPI_COMM_WORLD)); /* line ALLGATHER */
}

static void alltoall(void)
{
    room(1024);
    LATE_TO(MPI_Alltoall(out, 1024, MPI_DOUBLE, in, 1024, MPI_DOUBLE, MPI_COMM_WORLD)); /* line ALLTOALL */
}

static void reduce_scatter(void)
{
    room(SOME);
    LATE_TO(MPI_Reduce_scatter_block(out, in, SOME, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD)); /* line REDUCE_SCATTER */
}

/* Rank 0 is late to a scan: all ranks above wait. */
static void scan(void)
{
    room(SOME);
    LATE_TO(MPI_Scan(out, in, SOME, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD)); /* line SCAN */
}

static void comm_split(void)
{
    EACH_STEP {
        MPI_Comm half;
        late_works();
        MEETS(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half)); /* line COMM_SPLIT */
        MPI_Comm_free(&half);
    }
}

/* The root is late to a scatter. Rank 1 has its part and sends to rank 0; the last rank comes even later and harms nobody. */
static void scatter_then_send(void)
{
    static double part;
    int counts[8], places[8];
    for (int place = 0; place < 8; place++)
        counts[place] = 1, places[place] = place;
    room(SOME);
    EACH_STEP {
        if (rank == late)
            work(ms);
        if (rank == 3)
            work(1.5 * ms);
        if (rank == 3)
            MPI_Scatterv(out, counts, places, MPI_DOUBLE, &part, 1, MPI_DOUBLE, late, MPI_COMM_WORLD); /* line SCATTERV */
        else
            MEETS(MPI_Scatterv(out, counts, places, MPI_DOUBLE, &part, 1, MPI_DOUBLE, late, MPI_COMM_WORLD)); /* line SCATTERV */
        if (rank == 0)
            MPI_Recv(&part, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(&part, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
        /* Before the next step, without a wait of those that come early. */
        if (rank != 3)
            work(0.5 * ms + 2);
        else
            work(2);
    }
}

/* Healthy: all come at once. */
static void alltoall_large(void)
{
    room(MANY * 4);
    EACH_STEP
        MPI_Alltoall(out, MANY * 4 / size, MPI_DOUBLE, in, MANY * 4 / size, MPI_DOUBLE, MPI_COMM_WORLD);
}

static void gathers_eager(void)
{
    room(SOME);
    EACH_STEP {
        work(10);
        MPI_Gather(out, SOME, MPI_DOUBLE, in, SOME, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        MPI_Bcast(out, SOME, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    }
}

/* Late to the end alone. */
static void finalize(void)
{
    work(10);
    if (rank == late)
        work(ms);
    note(now_s(), rank == late ? 0 : now_s() + 1e-3 * ms);
}

PROBLEMS({"barrier", barrier}, {"bcast", bcast}, {"forwards", forwards}, {"bcast_large", bcast_large},
         {"scatter", scatter}, {"scatter_large", scatter_large}, {"gather", gather},
         {"gather_late_root", gather_late_root}, {"reduce", reduce}, {"reduce_late_root", reduce_late_root},
         {"allreduce", allreduce}, {"allgather", allgather}, {"alltoall", alltoall},
         {"reduce_scatter", reduce_scatter}, {"scan", scan}, {"comm_split", comm_split},
         {"scatter_then_send", scatter_then_send}, {"alltoall_large", alltoall_large},
         {"gathers_eager", gathers_eager}, {"finalize", finalize})
