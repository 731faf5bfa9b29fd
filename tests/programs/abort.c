/* MPI_Abort in the middle of communication: receives posted that never complete, messages never received.
 *
 * Rank 0 aborts with code 3 after 10 round trips. Nothing is printed: what had been printed before an abort may get lost.
 *
 * ranks: 2 4
 * exit: 3
 */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank = world_rank(), value = 0;
    MPI_Request never;

    if (rank <= 1) {
        int other = 1 - rank;
        MPI_Irecv(&value, 1, MPI_INT, other, 99, MPI_COMM_WORLD, &never);
        MPI_Send(&rank, 1, MPI_INT, other, 98, MPI_COMM_WORLD);
        for (int i = 0; i < 10; i++) {
            int got = -1;
            MPI_Sendrecv(&i, 1, MPI_INT, other, 1, &got, 1, MPI_INT, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            REQUIRE(got == i);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        MPI_Abort(MPI_COMM_WORLD, 3);
    MPI_Barrier(MPI_COMM_WORLD); /* never left: rank 0 does not come */
    return 0;
}
