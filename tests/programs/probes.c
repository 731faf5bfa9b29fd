/* Probes of all four kinds, each followed by the receive of what it found.
 *
 * At rank 1 all six messages are unexpected; none is ever posted. Each of MPI_Probe, MPI_Iprobe, MPI_Mprobe and
 * MPI_Improbe searches the unexpected queue and leaves its message there (matched probes take it out). Then each rank
 * finds a message of its own so, with statuses that hold something else before.
 *
 * ranks: 2 4
 */
#include "check.h"

enum { TAGS = 6 };

/* Message `tag` is `tag` integers long. */
static void check_payload(const int *values, int count, int tag)
{
    REQUIRE(count == tag);
    for (int i = 0; i < count; i++) {
        REQUIRE(values[i] == 100 * tag + i);
        mix((uint64_t)values[i]);
    }
}

static void check_status(MPI_Status *status, int tag)
{
    int count = -1;
    MPI_Get_count(status, MPI_INT, &count);
    REQUIRE(status->MPI_SOURCE == 0 && status->MPI_TAG == tag && count == tag);
}

static void receiver(void)
{
    int values[TAGS], found = 0, count;
    MPI_Status status;
    MPI_Message message;
    MPI_Request request;

    MPI_Iprobe(0, 1000, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
    REQUIRE(!found);
    MPI_Improbe(0, 1000, MPI_COMM_WORLD, &found, &message, MPI_STATUS_IGNORE);
    REQUIRE(!found);

    MPI_Probe(0, 1, MPI_COMM_WORLD, &status);
    check_status(&status, 1);
    MPI_Recv(values, TAGS, MPI_INT, 0, 1, MPI_COMM_WORLD, &status);
    check_payload(values, 1, status.MPI_TAG);

    for (found = 0; !found;)
        MPI_Iprobe(0, 2, MPI_COMM_WORLD, &found, &status);
    check_status(&status, 2);
    MPI_Recv(values, TAGS, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check_payload(values, 2, 2);

    MPI_Mprobe(0, 3, MPI_COMM_WORLD, &message, &status);
    check_status(&status, 3);
    MPI_Mrecv(values, 3, MPI_INT, &message, &status);
    REQUIRE(message == MPI_MESSAGE_NULL);
    check_payload(values, 3, status.MPI_TAG);

    for (found = 0; !found;)
        MPI_Improbe(0, 4, MPI_COMM_WORLD, &found, &message, &status);
    check_status(&status, 4);
    MPI_Imrecv(values, 4, MPI_INT, &message, &request);
    MPI_Wait(&request, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    check_payload(values, count, status.MPI_TAG);

    /* A wild matched probe takes the older of the two last messages, so a receive of both tags must get the other. */
    MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
    check_status(&status, 5);
    int last[TAGS];
    MPI_Recv(last, TAGS, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    check_status(&status, 6);
    check_payload(last, 6, 6);
    MPI_Mrecv(values, 5, MPI_INT, &message, MPI_STATUS_IGNORE);
    check_payload(values, 5, 5);
}

static void to_oneself(void)
{
    int sent = 7, received = 0;
    MPI_Request requests[2];
    MPI_Message message;
    MPI_Status status;
    memset(&status, 0xff, sizeof status);
    MPI_Isend(&sent, 1, MPI_INT, world_rank(), 9, MPI_COMM_WORLD, &requests[0]);
    MPI_Mprobe(world_rank(), 9, MPI_COMM_WORLD, &message, &status);
    REQUIRE(status.MPI_SOURCE == world_rank() && status.MPI_TAG == 9);
    MPI_Imrecv(&received, 1, MPI_INT, &message, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    REQUIRE(received == sent);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank = world_rank();

    if (rank == 0) {
        for (int tag = 1; tag <= TAGS; tag++) {
            int values[TAGS];
            for (int i = 0; i < tag; i++)
                values[i] = 100 * tag + i;
            MPI_Send(values, tag, MPI_INT, 1, tag, MPI_COMM_WORLD);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        receiver();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        /* Probing the process that does not exist succeeds at once. */
        MPI_Status status;
        MPI_Message message;
        MPI_Probe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status);
        REQUIRE(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG);
        MPI_Mprobe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &message, &status);
        REQUIRE(message == MPI_MESSAGE_NO_PROC);
        MPI_Mrecv(NULL, 0, MPI_INT, &message, MPI_STATUS_IGNORE);
        REQUIRE(message == MPI_MESSAGE_NULL);
    }
    to_oneself();
    return finish();
}
