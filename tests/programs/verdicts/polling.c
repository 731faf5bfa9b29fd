/* Rank 1 polls for what the late rank does 20 ms later: polling is waiting, whatever sleeps between. Where three ranks take part they
 * meet in a barrier afterwards, to which rank 1 comes because it had to wait. */
#include "verdicts.h"

static int value, flag;
static MPI_Request request;
static MPI_Status status;

/* The late rank sends, and rank 1 polls in this way. */
static void each_message(void (*poll)(void))
{
    EACH_STEP {
        if (rank == late) {
            work(ms);
            COMES(MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD)); /* line SEND */
        } else if (rank == 1) {
            flag = 0;
            poll();
        }
        MPI_Barrier(MPI_COMM_WORLD); /* line BARRIER */
    }
}

static void post(void)
{
    MPI_Irecv(&value, 1, MPI_INT, late, 0, MPI_COMM_WORLD, &request);
}

static void until_test(void)
{
    while (!flag)
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE); /* line TEST */
}

static void by_test(void)
{
    post();
    WAITS(until_test());
}

static void until_testall(void)
{
    while (!flag)
        MPI_Testall(1, &request, &flag, MPI_STATUSES_IGNORE); /* line TESTALL */
}

static void by_testall(void)
{
    post();
    WAITS(until_testall());
}

static void until_testall_with_sleep(void)
{
    while (!flag) {
        MPI_Testall(1, &request, &flag, MPI_STATUSES_IGNORE); /* line TESTALL_SLEEP */
        nap(500);
    }
}

static void by_testall_with_sleep(void)
{
    post();
    WAITS(until_testall_with_sleep());
}

static void until_testany(void)
{
    int index;
    while (!flag)
        MPI_Testany(1, &request, &index, &flag, MPI_STATUS_IGNORE); /* line TESTANY */
}

static void by_testany(void)
{
    post();
    WAITS(until_testany());
}

static void until_testsome(void)
{
    int index;
    while (flag < 1)
        MPI_Testsome(1, &request, &flag, &index, MPI_STATUSES_IGNORE); /* line TESTSOME */
}

static void by_testsome(void)
{
    post();
    WAITS(until_testsome());
}

static void until_get_status(void)
{
    while (!flag)
        MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE); /* line GET_STATUS */
}

static void by_get_status(void)
{
    post();
    WAITS(until_get_status());
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void until_iprobe(void)
{
    while (!flag)
        MPI_Iprobe(late, 0, MPI_COMM_WORLD, &flag, &status); /* line IPROBE */
}

static void by_iprobe(void)
{
    WAITS(until_iprobe());
    MPI_Recv(&value, 1, MPI_INT, late, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* line PROBED */
}

static void until_iprobe_any(void)
{
    while (!flag) {
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status); /* line IPROBE_ANY */
        nap(200);
    }
}

static void by_iprobe_any(void)
{
    WAITS(until_iprobe_any());
    MPI_Recv(&value, 1, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void until_improbe(MPI_Message *message)
{
    while (!flag)
        MPI_Improbe(late, 0, MPI_COMM_WORLD, &flag, message, &status); /* line IMPROBE */
}

static void by_improbe(void)
{
    MPI_Message message;
    WAITS(until_improbe(&message));
    MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
}

static void test(void) { each_message(by_test); }
static void testall(void) { each_message(by_testall); }
static void testall_with_sleep(void) { each_message(by_testall_with_sleep); }
static void testany(void) { each_message(by_testany); }
static void testsome(void) { each_message(by_testsome); }
static void get_status(void) { each_message(by_get_status); }
static void iprobe(void) { each_message(by_iprobe); }
static void iprobe_any(void) { each_message(by_iprobe_any); }
static void improbe(void) { each_message(by_improbe); }

static void until_sent(void)
{
    while (!flag)
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE); /* line SEND_TEST */
}

/* The late rank receives what rank 1 sends. */
static void test_of_send(void)
{
    EACH_STEP {
        if (rank == late) {
            work(ms);
            COMES(MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)); /* line RECV */
        } else if (rank == 1) {
            flag = 0;
            MPI_Issend(&value, 1, MPI_INT, late, 0, MPI_COMM_WORLD, &request);
            WAITS(until_sent());
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void until_barrier(void)
{
    while (!flag)
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE); /* line BARRIER_TEST */
}

/* Nobody knows how many messages come (nonblocking consensus): probes go on until a nonblocking barrier is complete. */
static void consensus(void)
{
    EACH_STEP {
        late_works();
        MPI_Request sent;
        int next = (rank + 1) % size, done = 0, is_in = 0, out = rank;
        if (rank == late)
            note(now_s(), 0);
        double since = now_s();
        MPI_Issend(&out, 1, MPI_INT, next, 0, MPI_COMM_WORLD, &sent); /* line ISSEND */
        while (!done) {
            MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, &status); /* line CONSENSUS_IPROBE */
            if (flag)
                MPI_Recv(&value, 1, MPI_INT, status.MPI_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* line CONSENSUS_RECV */
            if (is_in) {
                MPI_Test(&request, &done, MPI_STATUS_IGNORE); /* line CONSENSUS_TEST */
            } else {
                MPI_Test(&sent, &is_in, MPI_STATUS_IGNORE); /* line CONSENSUS_SENT */
                if (is_in)
                    MPI_Ibarrier(MPI_COMM_WORLD, &request); /* line IBARRIER */
            }
            nap(100);
        }
        if (rank != late)
            note(since, now_s());
    }
}

static void barrier_test(void)
{
    EACH_STEP {
        late_works();
        if (rank == late)
            note(now_s(), 0);
        MPI_Ibarrier(MPI_COMM_WORLD, &request); /* line TESTED_IBARRIER */
        flag = 0;
        if (rank == late)
            until_barrier();
        else
            WAITS(until_barrier());
    }
}

/* Each rank tests now and then what has to come while it computes as long as the others: nobody waits. */
static void overlapped(void)
{
    EACH_STEP {
        int peer = rank ^ 1, in, out = rank;
        MPI_Request both[2];
        MPI_Irecv(&in, 1, MPI_INT, peer, 0, MPI_COMM_WORLD, &both[0]);
        MPI_Isend(&out, 1, MPI_INT, peer, 0, MPI_COMM_WORLD, &both[1]);
        for (int part = 0; part < 10; part++) {
            work(2);
            MPI_Testall(2, both, &flag, MPI_STATUSES_IGNORE);
        }
        MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
    }
}

PROBLEMS({"test", test}, {"testall", testall}, {"testall_with_sleep", testall_with_sleep}, {"testany", testany},
         {"testsome", testsome}, {"get_status", get_status}, {"iprobe", iprobe}, {"iprobe_any", iprobe_any},
         {"improbe", improbe}, {"test_of_send", test_of_send}, {"consensus", consensus},
         {"barrier_test", barrier_test}, {"overlapped", overlapped})
