/* Posted receives that are cancelled: one that nothing would ever match, and one that would have matched.
 *
 * The message with tag 5 goes to the second receive, because the first one left the queue.
 *
 * ranks: 2 4
 * events on rank 0:
 *   none
 * events on rank 1:
 *   post source=0 tag=99
 *   cancel source=0 tag=99
 *   post source=0 tag=5
 *   post source=0 tag=5
 *   cancel source=0 tag=5
 *   match source=0 tag=5
 */
#include "check.h"

static void cancel_and_check(MPI_Request *request)
{
    MPI_Status status;
    int cancelled = 0;
    MPI_Cancel(request);
    MPI_Wait(request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    REQUIRE(cancelled && *request == MPI_REQUEST_NULL);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank = world_rank();
    int never = -1, first = -1, second = -1;
    MPI_Request requests[2], never_request;

    if (rank == 1) {
        MPI_Irecv(&never, 1, MPI_INT, 0, 99, MPI_COMM_WORLD, &never_request);
        cancel_and_check(&never_request);
        MPI_Irecv(&first, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(&second, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, &requests[1]);
        cancel_and_check(&requests[0]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        int value = 55;
        MPI_Send(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
    } else if (rank == 1) {
        MPI_Status status;
        int cancelled = 1;
        MPI_Wait(&requests[1], &status);
        MPI_Test_cancelled(&status, &cancelled);
        REQUIRE(!cancelled && never == -1 && first == -1 && second == 55);
        mix((uint64_t)second);
    }
    return finish();
}
