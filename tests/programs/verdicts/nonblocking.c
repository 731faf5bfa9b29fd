/* One rank starts a nonblocking operation of all late, and the others wait for it when they complete theirs. */
#include "verdicts.h"

static double out[8], in[64];
static MPI_Request request;

static void wait_for_it(void)
{
    MPI_Wait(&request, MPI_STATUS_IGNORE); /* line WAIT */
}

#define STARTS(call)               \
    EACH_STEP {                    \
        late_works();              \
        if (rank == late)          \
            COMES(call);           \
        else                       \
            call;                  \
        if (rank == late)          \
            wait_for_it();         \
        else                       \
            WAITS(wait_for_it());  \
        meet();                      \
    }

static void iallreduce(void)
{
    STARTS(MPI_Iallreduce(out, in, 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request)); /* line IALLREDUCE */
}

static void ialltoall(void)
{
    STARTS(MPI_Ialltoall(out, 1, MPI_DOUBLE, in, 1, MPI_DOUBLE, MPI_COMM_WORLD, &request)); /* line IALLTOALL */
}

static void iallgather(void)
{
    STARTS(MPI_Iallgather(out, 8, MPI_DOUBLE, in, 8, MPI_DOUBLE, MPI_COMM_WORLD, &request)); /* line IALLGATHER */
}

static void ibarrier(void)
{
    STARTS(MPI_Ibarrier(MPI_COMM_WORLD, &request)); /* line IBARRIER */
}

static void ibcast(void)
{
    STARTS(MPI_Ibcast(out, 8, MPI_DOUBLE, late, MPI_COMM_WORLD, &request)); /* line IBCAST */
}

static void ineighbor(void)
{
    MPI_Comm ring;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, (int[]){1}, 0, &ring);
    STARTS(MPI_Ineighbor_alltoall(out, 1, MPI_DOUBLE, in, 1, MPI_DOUBLE, ring, &request)); /* line INEIGHBOR */
}

static void neighbor(void)
{
    MPI_Comm ring;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, (int[]){1}, 0, &ring);
    EACH_STEP {
        late_works();
        MEETS(MPI_Neighbor_alltoall(out, 1, MPI_DOUBLE, in, 1, MPI_DOUBLE, ring)); /* line NEIGHBOR */
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* The root of a broadcast is late. Rank 1 waits for it and sends to rank 0, which has not taken part in anything else. */
static void ibcast_then_send(void)
{
    EACH_STEP {
        late_works();
        if (rank == late)
            COMES(MPI_Ibcast(out, 8, MPI_DOUBLE, late, MPI_COMM_WORLD, &request)); /* line SEND_IBCAST */
        else
            MPI_Ibcast(out, 8, MPI_DOUBLE, late, MPI_COMM_WORLD, &request); /* line SEND_IBCAST */
        if (rank == 0)
            WAITS(MPI_Recv(in, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)); /* line FROM_WAITING */
        if (rank == 1)
            WAITS(MPI_Wait(&request, MPI_STATUS_IGNORE)); /* line SEND_WAIT */
        else
            MPI_Wait(&request, MPI_STATUS_IGNORE); /* line SEND_WAIT */
        if (rank == 1)
            MPI_Send(out, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD); /* line WAITING_SEND */
    }
}

/* Healthy: between start and wait all do as much. */
static void overlapped(void)
{
    EACH_STEP {
        MPI_Iallreduce(out, in, 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
        work(20);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

PROBLEMS({"iallreduce", iallreduce}, {"ialltoall", ialltoall}, {"iallgather", iallgather}, {"ibarrier", ibarrier},
         {"ibcast", ibcast}, {"ineighbor", ineighbor}, {"neighbor", neighbor},
         {"ibcast_then_send", ibcast_then_send}, {"overlapped", overlapped})
