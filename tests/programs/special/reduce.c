/* Collective operations whose messages the library makes.
 *
 * Arguments: how many times MPI_Reduce to rank 0 with 25 000 ints (100 kB). Nothing else is done: no other collective operation. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define INTS 25000

int main(int argc, char **argv)
{
    static int give[INTS], get[INTS];
    int rank, size, wrong = 0;
    int times = argc > 1 ? atoi(argv[1]) : 1;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < INTS; i++) {
        give[i] = rank + i;
    }
    for (int n = 0; n < times; n++) {
        MPI_Reduce(give, get, INTS, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    }
    for (int i = 0; rank == 0 && i < INTS; i++) {
        wrong += get[i] != size * (size - 1) / 2 + size * i;
    }
    if (rank == 0) {
        printf("wrong: %d\n", wrong);
    }
    MPI_Finalize();
    return wrong != 0;
}
