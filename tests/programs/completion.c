/* Every way to complete a receive: wait, test and status queries, one, any, some and all.
 *
 * Rank 0 sends BATCH messages for each way, after rank 1 has posted the receives; at rank 1 all are posted matches.
 *
 * ranks: 2 4
 */
#include "check.h"

enum { BATCH = 4, WAYS = 9 };

typedef void complete_batch(MPI_Request *requests, MPI_Status *statuses);

static void by_wait(MPI_Request *requests, MPI_Status *statuses)
{
    for (int i = BATCH - 1; i >= 0; i--)
        MPI_Wait(&requests[i], &statuses[i]);
}

static void by_waitall(MPI_Request *requests, MPI_Status *statuses)
{
    MPI_Waitall(BATCH, requests, statuses);
}

static void by_waitany(MPI_Request *requests, MPI_Status *statuses)
{
    int index;
    MPI_Status status;
    for (int i = 0; i < BATCH; i++) {
        MPI_Waitany(BATCH, requests, &index, &status);
        REQUIRE(index >= 0 && index < BATCH);
        statuses[index] = status;
    }
    MPI_Waitany(BATCH, requests, &index, &status);
    REQUIRE(index == MPI_UNDEFINED);
}

static void by_waitsome(MPI_Request *requests, MPI_Status *statuses)
{
    int done = 0, indices[BATCH], count;
    MPI_Status some[BATCH];
    while (done < BATCH) {
        MPI_Waitsome(BATCH, requests, &count, indices, some);
        REQUIRE(count > 0);
        for (int i = 0; i < count; i++)
            statuses[indices[i]] = some[i];
        done += count;
    }
    MPI_Waitsome(BATCH, requests, &count, indices, some);
    REQUIRE(count == MPI_UNDEFINED);
}

static void by_test(MPI_Request *requests, MPI_Status *statuses)
{
    for (int i = 0; i < BATCH; i++)
        for (int done = 0; !done;)
            MPI_Test(&requests[i], &done, &statuses[i]);
}

static void by_testall(MPI_Request *requests, MPI_Status *statuses)
{
    for (int done = 0; !done;)
        MPI_Testall(BATCH, requests, &done, statuses);
}

static void by_testany(MPI_Request *requests, MPI_Status *statuses)
{
    for (int left = BATCH; left > 0;) {
        int index, done;
        MPI_Status status;
        MPI_Testany(BATCH, requests, &index, &done, &status);
        if (done) {
            REQUIRE(index >= 0 && index < BATCH);
            statuses[index] = status;
            left--;
        }
    }
}

static void by_testsome(MPI_Request *requests, MPI_Status *statuses)
{
    for (int left = BATCH; left > 0;) {
        int indices[BATCH], count;
        MPI_Status some[BATCH];
        MPI_Testsome(BATCH, requests, &count, indices, some);
        REQUIRE(count >= 0);
        for (int i = 0; i < count; i++)
            statuses[indices[i]] = some[i];
        left -= count;
    }
}

/* A status query leaves the request in place; the wait afterwards must give the same. (The status of a send says
 * nothing about source and tag, so only the receives are compared.) */
static void by_status_query(MPI_Request *requests, MPI_Status *statuses)
{
    for (int i = 0; i < BATCH; i++) {
        MPI_Status seen;
        for (int done = 0; !done;)
            MPI_Request_get_status(requests[i], &done, &seen);
        REQUIRE(requests[i] != MPI_REQUEST_NULL);
        MPI_Wait(&requests[i], &statuses[i]);
        if (world_rank() == 1)
            REQUIRE(seen.MPI_SOURCE == statuses[i].MPI_SOURCE && seen.MPI_TAG == statuses[i].MPI_TAG);
    }
}

static complete_batch *const ways[WAYS] = {by_wait,    by_waitall, by_waitany,  by_waitsome,    by_test,
                                           by_testall, by_testany, by_testsome, by_status_query};

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank = world_rank();

    for (int way = 0; way < WAYS; way++) {
        int values[BATCH];
        MPI_Request requests[BATCH];
        MPI_Status statuses[BATCH];

        if (rank == 1)
            for (int i = 0; i < BATCH; i++)
                MPI_Irecv(&values[i], 1, MPI_INT, i % 2 ? MPI_ANY_SOURCE : 0, i, MPI_COMM_WORLD, &requests[i]);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            for (int i = 0; i < BATCH; i++)
                values[i] = 100 * way + i;
            for (int i = BATCH - 1; i >= 0; i--)
                MPI_Isend(&values[i], 1, MPI_INT, 1, i, MPI_COMM_WORLD, &requests[i]);
            ways[way](requests, statuses);
        } else if (rank == 1) {
            ways[way](requests, statuses);
            for (int i = 0; i < BATCH; i++) {
                REQUIRE(requests[i] == MPI_REQUEST_NULL);
                REQUIRE(statuses[i].MPI_SOURCE == 0 && statuses[i].MPI_TAG == i);
                REQUIRE(values[i] == 100 * way + i);
                mix((uint64_t)values[i]);
            }
        }
    }
    return finish();
}
