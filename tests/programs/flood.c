/* A flood of unexpected messages: rank 0 sends N, and only then rank 1 receives them in order.
 *
 * At rank 1: N messages unexpected, none posted; the unexpected queue grows to N.
 *
 * ranks: 2
 * args: 100
 * args: 5000
 */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank = world_rank();
    int messages = argc > 1 ? atoi(argv[1]) : 100;

    if (rank == 0)
        for (int i = 0; i < messages; i++)
            MPI_Send(&i, 1, MPI_INT, 1, 3, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        for (int i = 0; i < messages; i++) {
            int value = -1;
            MPI_Recv(&value, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            REQUIRE(value == i);
            mix((uint64_t)value);
        }
    }
    return finish();
}
