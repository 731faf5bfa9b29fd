/* Every kind of communication with MPI_PROC_NULL: it succeeds at once and touches no queue.
 *
 * ranks: 1 2 4
 * events on rank 0:
 *   none
 * events on rank 1:
 *   none
 */
#include "check.h"

static void check_empty(MPI_Status *status)
{
    int count = -1;
    MPI_Get_count(status, MPI_INT, &count);
    REQUIRE(status->MPI_SOURCE == MPI_PROC_NULL && status->MPI_TAG == MPI_ANY_TAG && count == 0);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int sent = 5, received = 42, found = 0;
    MPI_Status status;
    MPI_Request requests[2];
    MPI_Comm comm = MPI_COMM_WORLD;

    MPI_Send(&sent, 1, MPI_INT, MPI_PROC_NULL, 1, comm);
    MPI_Ssend(&sent, 1, MPI_INT, MPI_PROC_NULL, 1, comm);
    MPI_Recv(&received, 1, MPI_INT, MPI_PROC_NULL, 1, comm, &status);
    check_empty(&status);
    MPI_Recv(&received, 1, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, comm, &status);
    check_empty(&status);

    MPI_Irecv(&received, 1, MPI_INT, MPI_PROC_NULL, 1, comm, &requests[0]);
    MPI_Isend(&sent, 1, MPI_INT, MPI_PROC_NULL, 1, comm, &requests[1]);
    /* The status is not checked: MPICH 4.0 gives source 0 and tag 0 here. */
    MPI_Wait(&requests[0], &status);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);

    MPI_Sendrecv(&sent, 1, MPI_INT, MPI_PROC_NULL, 1, &received, 1, MPI_INT, MPI_PROC_NULL, 1, comm, &status);
    check_empty(&status);
    MPI_Sendrecv_replace(&received, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_PROC_NULL, 1, comm, &status);
    check_empty(&status);

    MPI_Recv_init(&received, 1, MPI_INT, MPI_PROC_NULL, 1, comm, &requests[0]);
    MPI_Send_init(&sent, 1, MPI_INT, MPI_PROC_NULL, 1, comm, &requests[1]);
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);

    MPI_Iprobe(MPI_PROC_NULL, 1, comm, &found, &status);
    REQUIRE(found);
    check_empty(&status);

    REQUIRE(received == 42);
    mix((uint64_t)received);
    return finish();
}
