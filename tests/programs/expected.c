/* A receive that is posted before its message is sent.
 *
 * ranks: 2 4
 * events on rank 0:
 *   none
 * events on rank 1:
 *   post source=0 tag=7
 *   match source=0 tag=7
 */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank = world_rank();
    int value = 0;

    if (rank == 0) {
        value = 1234;
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Send(&value, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
    } else if (rank == 1) {
        MPI_Request request;
        MPI_Status status;
        MPI_Irecv(&value, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, &request);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Wait(&request, &status);
        REQUIRE(value == 1234 && status.MPI_SOURCE == 0 && status.MPI_TAG == 7);
        mix((uint64_t)value);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return finish();
}
