/* Messages whose tags run against the order of the receives, in both queues.
 *
 * ranks: 2 4
 * events on rank 0:
 *   none
 * events on rank 1:
 *   post source=0 tag=3
 *   post source=0 tag=2
 *   post source=0 tag=1
 *   match source=0 tag=1
 *   match source=0 tag=2
 *   match source=0 tag=3
 *   unexpected source=0 tag=11
 *   unexpected source=0 tag=12
 *   unexpected source=0 tag=13
 *   claim source=0 tag=13
 *   claim source=0 tag=12
 *   claim source=0 tag=11
 */
#include "check.h"

enum { MESSAGES = 3 };

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank = world_rank();
    int values[MESSAGES];
    MPI_Request requests[MESSAGES];

    if (rank == 1)
        for (int i = 0; i < MESSAGES; i++)
            MPI_Irecv(&values[i], 1, MPI_INT, 0, MESSAGES - i, MPI_COMM_WORLD, &requests[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        for (int tag = 1; tag <= MESSAGES; tag++)
            MPI_Send(&tag, 1, MPI_INT, 1, tag, MPI_COMM_WORLD);
        for (int tag = 11; tag <= 10 + MESSAGES; tag++)
            MPI_Send(&tag, 1, MPI_INT, 1, tag, MPI_COMM_WORLD);
    } else if (rank == 1) {
        MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < MESSAGES; i++) {
            REQUIRE(values[i] == MESSAGES - i);
            mix((uint64_t)values[i]);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        for (int tag = 10 + MESSAGES; tag > 10; tag--) {
            int value = 0;
            MPI_Recv(&value, 1, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            REQUIRE(value == tag);
            mix((uint64_t)value);
        }
    }
    return finish();
}
