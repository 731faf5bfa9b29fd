/* Two messages that arrive before their receives are posted.
 *
 * ranks: 2 4
 * events on rank 0:
 *   none
 * events on rank 1:
 *   unexpected source=0 tag=7
 *   unexpected source=0 tag=8
 *   claim source=0 tag=7
 *   claim source=0 tag=8
 */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank = world_rank();

    if (rank == 0) {
        for (int tag = 7; tag <= 8; tag++) {
            int value = 100 * tag;
            MPI_Send(&value, 1, MPI_INT, 1, tag, MPI_COMM_WORLD);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        for (int tag = 7; tag <= 8; tag++) {
            int value = 0;
            MPI_Status status;
            MPI_Recv(&value, 1, MPI_INT, 0, tag, MPI_COMM_WORLD, &status);
            REQUIRE(value == 100 * tag && status.MPI_TAG == tag);
            mix((uint64_t)value);
        }
    }
    return finish();
}
