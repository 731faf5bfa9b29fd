/* MPI_Sendrecv and MPI_Sendrecv_replace around a ring.
 *
 * Every rank receives ROUNDS messages from its left and ROUNDS from its right neighbour; which of them are expected
 * depends on who is first.
 *
 * ranks: 1 2 4
 */
#include "check.h"

enum { ROUNDS = 10 };

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank = world_rank(), size = world_size();
    int left = (rank + size - 1) % size, right = (rank + 1) % size;

    for (int round = 0; round < ROUNDS; round++) {
        int sent = 100 * round + rank, received = -1;
        MPI_Status status;
        MPI_Sendrecv(&sent, 1, MPI_INT, right, 1, &received, 1, MPI_INT, left, 1, MPI_COMM_WORLD, &status);
        REQUIRE(received == 100 * round + left && status.MPI_SOURCE == left);
        mix((uint64_t)received);

        int both = 1000 * round + rank;
        MPI_Sendrecv_replace(&both, 1, MPI_INT, left, 2, right, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        REQUIRE(both == 1000 * round + right && status.MPI_TAG == 2);
        mix((uint64_t)both);
    }
    return finish();
}
