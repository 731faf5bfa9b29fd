/* The calls of calls.F90, in C: both make the same calls in the same order, check what they get, and print the same.
 *
 * How often it takes until a test succeeds differs between runs, so the number of tests is printed.
 */
#define _POSIX_C_SOURCE 199309L
#include "../check.h"

#include <time.h>

static int me, other, values[8], sent[8];
static MPI_Request requests[3];

/* Processes share processors: a test that found nothing yields to the others. */
static void pause_unless(int found)
{
    struct timespec a_while = {0, 100000};
    if (!found)
        nanosleep(&a_while, NULL);
}

/* Three receives that meet three messages sent after a barrier. */
static void post(int tag)
{
    for (int i = 0; i < 3; i++)
        MPI_Irecv(&values[i], 1, MPI_INT, other, tag + i + 1, MPI_COMM_WORLD, &requests[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 2; i >= 0; i--)
        MPI_Send(&sent[i], 1, MPI_INT, other, tag + i + 1, MPI_COMM_WORLD);
}

static void received(void)
{
    for (int i = 0; i < 3; i++) {
        REQUIRE(values[i] == 100 * other + i + 1 && requests[i] == MPI_REQUEST_NULL);
        values[i] = 0;
    }
}

/* One message each way in another communicator, where the other process has this rank. */
static void exchange(MPI_Comm within, int peer)
{
    MPI_Request coming;
    MPI_Status status;
    MPI_Irecv(values, 1, MPI_INT, MPI_ANY_SOURCE, 5, within, &coming);
    MPI_Barrier(within);
    MPI_Send(&sent[3], 1, MPI_INT, peer, 5, within);
    MPI_Wait(&coming, &status);
    REQUIRE(values[0] == 100 * other + 4 && status.MPI_SOURCE == peer);
}

int main(int argc, char **argv)
{
    int ranks, flag, count, done, total, tests = 0, places[3];
    MPI_Status status, all_statuses[3];
    MPI_Request request;

    MPI_Init(&argc, &argv);
    MPI_Initialized(&flag);
    REQUIRE(flag);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    REQUIRE(ranks == 2);
    other = 1 - me;
    for (int i = 0; i < 8; i++)
        sent[i] = 100 * me + i + 1;

    /* Blocking: the messages are there before the receives. */
    if (me == 0) {
        MPI_Send(sent, 2, MPI_INT, 1, 1, MPI_COMM_WORLD);
        MPI_Send(sent, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
        MPI_Send(sent, 0, MPI_INT, 1, 3, MPI_COMM_WORLD);
        MPI_Send(sent, 1, MPI_INT, 1, 4, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 1) {
        MPI_Recv(values, 8, MPI_INT, 0, 1, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_INT, &count);
        REQUIRE(status.MPI_SOURCE == 0 && status.MPI_TAG == 1 && count == 2 && values[1] == 2);
        MPI_Recv(values, 8, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        REQUIRE(status.MPI_SOURCE == 0 && status.MPI_TAG == 2);
        MPI_Recv(values, 8, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(values, 8, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }

    /* Nonblocking: the receives are there before the messages. */
    for (int i = 0; i < 3; i++)
        MPI_Irecv(&values[i], 1, MPI_INT, other, 11 + i, MPI_COMM_WORLD, &requests[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 3; i++) {
        MPI_Isend(&sent[i], 1, MPI_INT, other, 11 + i, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Waitall(3, requests, all_statuses);
    for (int i = 0; i < 3; i++)
        REQUIRE(all_statuses[i].MPI_SOURCE == other && all_statuses[i].MPI_TAG == 11 + i);
    received();
    post(20);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    received();

    /* Each way of completion. */
    post(30);
    for (int i = 0; i < 3; i++) {
        MPI_Waitany(3, requests, &done, &status);
        REQUIRE(status.MPI_TAG == 31 + done);
    }
    MPI_Waitany(3, requests, &done, MPI_STATUS_IGNORE);
    REQUIRE(done == MPI_UNDEFINED);
    received();
    post(40);
    for (total = 0; total < 3; total += done) {
        tests++;
        MPI_Waitsome(3, requests, &done, places, all_statuses);
        for (int i = 0; i < done; i++)
            REQUIRE(all_statuses[i].MPI_TAG == 41 + places[i]);
    }
    received();
    post(50);
    for (flag = 0; !flag; tests++) {
        MPI_Testall(3, requests, &flag, MPI_STATUSES_IGNORE);
        pause_unless(flag);
    }
    received();
    post(60);
    for (total = 0; total < 3; total += done, tests++) {
        MPI_Testsome(3, requests, &done, places, MPI_STATUSES_IGNORE);
        pause_unless(done);
    }
    received();
    post(70);
    for (total = 0; total < 3; total += flag != 0, tests++) {
        MPI_Testany(3, requests, &done, &flag, &status);
        REQUIRE(!flag || status.MPI_TAG == 71 + done);
        pause_unless(flag);
    }
    received();
    post(80);
    for (int i = 0; i < 3; i++)
        for (flag = 0; !flag; tests++) {
            MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE);
            pause_unless(flag);
        }
    received();

    /* Persistent requests. */
    MPI_Recv_init(&values[0], 1, MPI_INT, other, 90, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(&sent[0], 1, MPI_INT, other, 90, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < 3; i++) {
        MPI_Start(&requests[0]);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Start(&requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        REQUIRE(values[0] == 100 * other + 1);
    }
    MPI_Startall(2, requests);
    MPI_Wait(&requests[0], &status);
    REQUIRE(status.MPI_SOURCE == other && status.MPI_TAG == 90);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);

    /* Both directions in one call. */
    MPI_Sendrecv(&sent[0], 1, MPI_INT, other, 100, values, 1, MPI_INT, other, 100, MPI_COMM_WORLD, &status);
    REQUIRE(values[0] == 100 * other + 1 && status.MPI_TAG == 100);
    MPI_Sendrecv_replace(values, 1, MPI_INT, other, 101, other, 101, MPI_COMM_WORLD, MPI_STATUS_IGNORE);

    /* Probes. */
    MPI_Message found;
    MPI_Send(&sent[2], 1, MPI_INT, other, 110, MPI_COMM_WORLD);
    MPI_Probe(MPI_ANY_SOURCE, 110, MPI_COMM_WORLD, &status);
    MPI_Iprobe(other, 110, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    REQUIRE(flag);
    MPI_Iprobe(other, 111, MPI_COMM_WORLD, &flag, &status);
    REQUIRE(!flag);
    MPI_Mprobe(other, 110, MPI_COMM_WORLD, &found, &status);
    MPI_Mrecv(values, 1, MPI_INT, &found, MPI_STATUS_IGNORE);
    REQUIRE(values[0] == 100 * other + 3);

    /* A receive that is cancelled. */
    MPI_Irecv(values, 1, MPI_INT, other, 999, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    REQUIRE(flag);

    /* Sentinels: in place, and absolute addresses. */
    int sum = me + 1, length = 2;
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    REQUIRE(sum == 3);
    MPI_Aint address;
    MPI_Datatype there;
    MPI_Get_address(&values[4], &address);
    MPI_Type_create_hindexed(1, &length, &address, MPI_INT, &there);
    MPI_Type_commit(&there);
    values[4] = me;
    values[5] = 7;
    MPI_Sendrecv_replace(MPI_BOTTOM, 1, there, other, 120, other, 120, MPI_COMM_WORLD, &status);
    REQUIRE(values[4] == other && values[5] == 7);
    MPI_Type_free(&there);

    /* Communicators, each with messages of its own. */
    MPI_Comm copy, half, late, line;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    exchange(copy, other);
    MPI_Comm_split(copy, 0, -me, &half);
    exchange(half, me);
    MPI_Comm_idup(half, &late, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    exchange(late, me);
    int dims = 2, periods = 1, name_length;
    char name[MPI_MAX_OBJECT_NAME];
    MPI_Cart_create(MPI_COMM_WORLD, 1, &dims, &periods, 0, &line);
    exchange(line, other);
    MPI_Comm_set_name(line, "a line of two");
    MPI_Comm_get_name(line, name, &name_length);
    REQUIRE(name_length == 13);
    MPI_Comm_free(&line);
    MPI_Comm_free(&late);
    MPI_Comm_free(&half);
    MPI_Comm_free(&copy);

    /* A window. */
    MPI_Win window;
    MPI_Win_create(values, 32, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
    MPI_Put(&sent[1], 1, MPI_INT, other, 0, 1, MPI_INT, window);
    MPI_Win_fence(0, window);
    REQUIRE(values[0] == 100 * other + 2);
    MPI_Win_free(&window);

    MPI_Reduce(&tests, &total, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (me == 0)
        printf("tests %d\nOK\n", total);
    MPI_Finalize();
    return 0;
}
