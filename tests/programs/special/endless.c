/* Exchanges a number around a ring until somebody ends it; sleeps between, so that ranks can share processors. */
#define _DEFAULT_SOURCE
#include <mpi.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, size, mine = 0, theirs;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (;;) {
        MPI_Sendrecv(&mine, 1, MPI_INT, (rank + 1) % size, 1, &theirs, 1, MPI_INT, (rank + size - 1) % size, 1,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        usleep(10000);
    }
}
