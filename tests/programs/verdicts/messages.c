/* Messages between two ranks and along chains: who is late, and who only seems to be. */
#include "verdicts.h"

enum { BIG = 1 << 19 };

static double *out, *in;
static MPI_Request both[2];

static void room(size_t number)
{
    out = zeros(number * sizeof *out);
    in = zeros(number * sizeof *in);
}

static void exchange(int number)
{
    int peer = rank ^ 1;
    room((size_t)number);
    EACH_STEP {
        late_works();
        if (rank == late)
            note(now_s(), 0);
        MPI_Irecv(in, number, MPI_DOUBLE, peer, 0, MPI_COMM_WORLD, &both[0]);
        MPI_Isend(out, number, MPI_DOUBLE, peer, 0, MPI_COMM_WORLD, &both[1]); /* line EXCHANGE_SEND */
        if (rank == late)
            MPI_Waitall(2, both, MPI_STATUSES_IGNORE); /* line EXCHANGE */
        else
            WAITS(MPI_Waitall(2, both, MPI_STATUSES_IGNORE)); /* line EXCHANGE */
    }
}

/* Large transfers both ways, of which one is late; and small ones. */
static void exchange_large(void) { exchange(BIG); }
static void exchange_small(void) { exchange(1); }

/* Persistent requests, with the receive first in the array or last. */
static void persistent(int receive)
{
    int peer = rank ^ 1;
    room(1);
    MPI_Recv_init(in, 1, MPI_DOUBLE, peer, 0, MPI_COMM_WORLD, &both[receive]);
    MPI_Send_init(out, 1, MPI_DOUBLE, peer, 0, MPI_COMM_WORLD, &both[1 - receive]);
    EACH_STEP {
        late_works();
        if (rank == late)
            note(now_s(), 0);
        MPI_Startall(2, both); /* line STARTALL */
        if (rank == late)
            MPI_Waitall(2, both, MPI_STATUSES_IGNORE); /* line PERSISTENT */
        else
            WAITS(MPI_Waitall(2, both, MPI_STATUSES_IGNORE)); /* line PERSISTENT */
    }
    MPI_Request_free(&both[0]);
    MPI_Request_free(&both[1]);
}

static void receives_first(void) { persistent(0); }
static void receives_last(void) { persistent(1); }

static void sendrecv(void)
{
    room(1);
    EACH_STEP {
        int next = (rank + 1) % size, before = (rank + size - 1) % size;
        late_works();
        if (rank == late)
            note(now_s(), 0);
        if (rank == (late + 1) % size)
            WAITS(MPI_Sendrecv(out, 1, MPI_DOUBLE, next, 0, in, 1, MPI_DOUBLE, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)); /* line SENDRECV */
        else
            MPI_Sendrecv(out, 1, MPI_DOUBLE, next, 0, in, 1, MPI_DOUBLE, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* line SENDRECV */
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* From the first rank to the last: only the late one works. */
static void chain(void)
{
    room(1);
    EACH_STEP {
        if (rank > 0 && rank != late)
            WAITS(MPI_Recv(in, 1, MPI_DOUBLE, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)); /* line CHAIN_RECV */
        else if (rank > 0)
            MPI_Recv(in, 1, MPI_DOUBLE, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* line CHAIN_RECV */
        late_works();
        if (rank == late)
            note(now_s(), 0);
        if (rank + 1 < size)
            MPI_Send(out, 1, MPI_DOUBLE, rank + 1, 0, MPI_COMM_WORLD); /* line CHAIN_SEND */
    }
}

static void late_receiver(void)
{
    room(BIG);
    EACH_STEP {
        late_works();
        if (rank == late)
            COMES(MPI_Recv(in, BIG, MPI_DOUBLE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)); /* line LATE_RECV */
        else
            WAITS(MPI_Send(out, BIG, MPI_DOUBLE, 1 - rank, 0, MPI_COMM_WORLD)); /* line EARLY_SEND */
    }
}

static void late_receiver_wait(void)
{
    room(BIG);
    EACH_STEP {
        late_works();
        if (rank == late) {
            COMES(MPI_Irecv(in, BIG, MPI_DOUBLE, 1 - rank, 0, MPI_COMM_WORLD, &both[0])); /* line LATE_IRECV */
            MPI_Wait(&both[0], MPI_STATUS_IGNORE);
        } else {
            MPI_Isend(out, BIG, MPI_DOUBLE, 1 - rank, 0, MPI_COMM_WORLD, &both[0]);
            WAITS(MPI_Wait(&both[0], MPI_STATUS_IGNORE)); /* line WAIT_SENT */
        }
    }
}

static void late_ssend(void)
{
    room(1);
    EACH_STEP {
        late_works();
        if (rank == late)
            COMES(MPI_Recv(in, 1, MPI_DOUBLE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)); /* line SSEND_RECV */
        else
            WAITS(MPI_Ssend(out, 1, MPI_DOUBLE, 1 - rank, 0, MPI_COMM_WORLD)); /* line SSEND */
    }
}

/* A server that has nothing to do but answer: a worker is late with its request, and then to the barrier of all. */
static void probe_server(void)
{
    room(1);
    EACH_STEP {
        MPI_Status status;
        MPI_Message message;
        if (rank == 0) {
            for (int worker = 1; worker < size; worker++) {
                MPI_Mprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &message, &status); /* line MPROBE */
                MPI_Mrecv(in, 1, MPI_DOUBLE, &message, MPI_STATUS_IGNORE);
                MPI_Send(in, 1, MPI_DOUBLE, status.MPI_SOURCE, 1, MPI_COMM_WORLD); /* line ANSWER */
            }
            MPI_Barrier(MPI_COMM_WORLD); /* line SERVER_BARRIER */
        } else {
            late_works();
            MPI_Send(out, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD); /* line REQUEST */
            MPI_Recv(in, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* line ANSWERED */
            MEETS(MPI_Barrier(MPI_COMM_WORLD)); /* line SERVER_BARRIER */
        }
    }
}

/* Rank 0 gives work to the others, of which one is slow, and waits for their results. */
static void slow_worker(void)
{
    room(1);
    EACH_STEP {
        if (rank == 0) {
            for (int worker = 1; worker < size; worker++)
                MPI_Send(out, 1, MPI_DOUBLE, worker, 0, MPI_COMM_WORLD);
            for (int worker = 1; worker < size; worker++)
                WAITS(MPI_Recv(in, 1, MPI_DOUBLE, worker, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)); /* line RESULT */
        } else {
            MPI_Recv(in, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* line TASK */
            work(rank == late ? ms : 1);
            if (rank == late)
                COMES(MPI_Send(out, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD)); /* line DONE */
            else
                MPI_Send(out, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD); /* line DONE */
        }
    }
}

/* A send whose receiver has posted and computes: first for long, then for a little. */
static void two_absences(void)
{
    room(BIG);
    EACH_STEP {
        if (rank == late) {
            MPI_Irecv(in, BIG, MPI_DOUBLE, 1 - rank, 0, MPI_COMM_WORLD, &both[0]); /* line POSTED */
            MPI_Send(out, 1, MPI_DOUBLE, 1 - rank, 1, MPI_COMM_WORLD);
            work(ms);
            note(now_s(), 0);
            MPI_Wait(&both[0], MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(in, 1, MPI_DOUBLE, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            WAITS(MPI_Ssend(out, BIG, MPI_DOUBLE, 1 - rank, 0, MPI_COMM_WORLD)); /* line UNANSWERED */
        }
    }
}

/* Healthy from here on, where nobody is late. */
static void ping_pong(void)
{
    room(BIG);
    for (int turn = 0; turn < 20000; turn++) {
        int length = 1;
        if (rank == 0) {
            MPI_Send(out, length, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
            MPI_Recv(in, length, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (rank == 1) {
            MPI_Recv(in, length, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(out, length, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
        }
    }
}

/* One of the two works before it answers. */
static void ping_pong_with_work(void)
{
    room(1);
    EACH_STEP {
        if (rank == late) {
            MPI_Recv(in, 1, MPI_DOUBLE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            work(ms);
            COMES(MPI_Send(out, 1, MPI_DOUBLE, 1 - rank, 0, MPI_COMM_WORLD)); /* line PONG */
        } else {
            MPI_Send(out, 1, MPI_DOUBLE, 1 - rank, 0, MPI_COMM_WORLD);
            WAITS(MPI_Recv(in, 1, MPI_DOUBLE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)); /* line PING */
        }
    }
}

static void tiny(void)
{
    room(1);
    for (int message = 0; message < 300000; message++)
        if (rank == 0)
            MPI_Send(out, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
        else if (rank == 1)
            MPI_Recv(in, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void transfers(void)
{
    int peer = rank ^ 1;
    room(4 * BIG);
    for (step = 0; step < 2 * STEPS; step++) {
        MPI_Irecv(in, 4 * BIG, MPI_DOUBLE, peer, 0, MPI_COMM_WORLD, &both[0]);
        MPI_Isend(out, 4 * BIG, MPI_DOUBLE, peer, 0, MPI_COMM_WORLD, &both[1]);
        MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
    }
}

static void ring(void)
{
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    room(64);
    EACH_STEP {
        work(10);
        MPI_Sendrecv(out, 64, MPI_DOUBLE, next, 0, in, 64, MPI_DOUBLE, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

PROBLEMS({"exchange_large", exchange_large}, {"exchange_small", exchange_small}, {"receives_first", receives_first},
         {"receives_last", receives_last}, {"sendrecv", sendrecv}, {"chain", chain}, {"late_receiver", late_receiver},
         {"late_receiver_wait", late_receiver_wait}, {"late_ssend", late_ssend}, {"probe_server", probe_server},
         {"slow_worker", slow_worker}, {"two_absences", two_absences}, {"ping_pong", ping_pong},
         {"ping_pong_with_work", ping_pong_with_work}, {"tiny", tiny}, {"transfers", transfers}, {"ring", ring})
