/* A program that calls exit(5) although MPI is initialised: on every rank, or on rank 1 only.
 *
 * Argument: `all` or `one`. In the second case rank 1 leaves while the others wait for it; the launcher ends
 * them. Nothing is printed: what had been printed before such an end may get lost.
 *
 * ranks: 2 4
 * args: all
 * args: one
 * exit: nonzero
 */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank = world_rank(), size = world_size();
    int all = argc > 1 && strcmp(argv[1], "all") == 0;

    for (int i = 0; i < 10; i++) {
        int got = -1, left = (rank + size - 1) % size, right = (rank + 1) % size;
        MPI_Sendrecv(&i, 1, MPI_INT, right, 1, &got, 1, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        REQUIRE(got == i);
    }
    if (all || rank == 1)
        exit(5);
    MPI_Barrier(MPI_COMM_WORLD); /* never left: rank 1 does not come */
    return 0;
}
