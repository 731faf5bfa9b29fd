/* Two ranks exchange edges. In turns, the edge of one of them takes longer. The inner cells need no edge of the other rank, and could be
 * computed while the edge comes; but each rank waits first.
 *
 *     mpirun ... ./overlap           the problem
 *     mpirun ... ./overlap mended    computes the inner cells, then waits
 */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <string.h>
#include <time.h>

enum { STEPS = 30, EDGE_MS = 8, INNER_MS = 10 };

static void compute(long milliseconds)
{
    struct timespec time = {0, milliseconds * 1000000L};
    nanosleep(&time, NULL);
}

int main(int argc, char **argv)
{
    int rank, size;
    double edge = 0, halo = 0;
    MPI_Init(&argc, &argv);
    int mended = argc > 1 && strcmp(argv[1], "mended") == 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int other = rank < 2 && size > 1 ? 1 - rank : MPI_PROC_NULL;
    for (int step = 0; step < STEPS; step++) {
        MPI_Request requests[2];
        MPI_Irecv(&halo, 1, MPI_DOUBLE, other, 0, MPI_COMM_WORLD, &requests[0]);
        if (step % 2 == rank)
            compute(EDGE_MS);
        MPI_Isend(&edge, 1, MPI_DOUBLE, other, 0, MPI_COMM_WORLD, &requests[1]);
        if (mended)
            compute(INNER_MS);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        if (!mended)
            compute(INNER_MS);
    }
    MPI_Finalize();
    return 0;
}
