/* Persistent requests, several rounds of MPI_Startall and MPI_Waitall, then freed.
 *
 * Each round queues the two receives again. A persistent request that is never started leaves no trace in
 * the queues. The last message is a nonblocking send whose request is freed while it is active.
 *
 * ranks: 2 4
 * events on rank 0:
 *   none
 * events on rank 1:
 *   post source=0 tag=1
 *   post source=0 tag=2
 *   match source=0 tag=1
 *   match source=0 tag=2
 *   post source=0 tag=1
 *   post source=0 tag=2
 *   match source=0 tag=1
 *   match source=0 tag=2
 *   post source=0 tag=1
 *   match source=0 tag=1
 *   unexpected source=0 tag=3
 *   claim source=0 tag=3
 */
#include "check.h"

enum { ROUNDS = 2 };

static void sender(void)
{
    int values[2];
    MPI_Request requests[2], never_started;
    MPI_Send_init(&values[0], 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Ssend_init(&values[1], 1, MPI_INT, 1, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Rsend_init(&values[1], 1, MPI_INT, 1, 4, MPI_COMM_WORLD, &never_started);

    for (int round = 0; round < ROUNDS; round++) {
        values[0] = 10 * round + 1;
        values[1] = 10 * round + 2;
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        REQUIRE(requests[0] != MPI_REQUEST_NULL);
    }
    values[0] = 77;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Start(&requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    MPI_Request_free(&never_started);
    REQUIRE(requests[0] == MPI_REQUEST_NULL);

    int last = 88;
    MPI_Request request;
    MPI_Isend(&last, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD); /* `last` stays valid until the receiver has it */
}

static void receiver(void)
{
    int values[2];
    MPI_Request requests[2], never_started;
    MPI_Recv_init(&values[0], 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(&values[1], 1, MPI_INT, 0, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Recv_init(&values[1], 1, MPI_INT, 0, 4, MPI_COMM_WORLD, &never_started);

    for (int round = 0; round < ROUNDS; round++) {
        MPI_Status statuses[2];
        MPI_Startall(2, requests);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Waitall(2, requests, statuses);
        for (int i = 0; i < 2; i++) {
            REQUIRE(values[i] == 10 * round + i + 1 && statuses[i].MPI_TAG == i + 1);
            mix((uint64_t)values[i]);
        }
    }
    MPI_Start(&requests[0]);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    REQUIRE(values[0] == 77);
    mix((uint64_t)values[0]);
    /* Waiting for an inactive request returns at once with an empty status. */
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    MPI_Request_free(&never_started);

    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Recv(&values[1], 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    REQUIRE(values[1] == 88);
    mix((uint64_t)values[1]);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank = world_rank();
    if (rank == 0)
        sender();
    else if (rank == 1)
        receiver();
    else
        for (int i = 0; i < ROUNDS + 3; i++)
            MPI_Barrier(MPI_COMM_WORLD);
    return finish();
}
