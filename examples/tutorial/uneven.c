/* A chain of heat conduction. Each rank has some rows, computes them, and exchanges its edge with both neighbours. One rank has
 * three times as many rows as the others.
 *
 *     mpirun ... ./uneven           the problem
 *     mpirun ... ./uneven mended    the same work, in equal parts
 */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <string.h>
#include <time.h>

enum { STEPS = 40, ROWS = 24, SLOW = 2 };

/* So many rows take this rank so long: 250 microseconds each. */
static void compute(int rows)
{
    struct timespec time = {0, rows * 250000L};
    nanosleep(&time, NULL);
}

static int rows_of(int rank, int size, int mended)
{
    if (mended)
        return ROWS / size;
    int each = ROWS / (size + 2);
    return rank == SLOW % size ? 3 * each : each;
}

int main(int argc, char **argv)
{
    int rank, size;
    double edge[2] = {0}, halo[2] = {0}, change = 1, largest;
    MPI_Init(&argc, &argv);
    int mended = argc > 1 && strcmp(argv[1], "mended") == 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int left = rank > 0 ? rank - 1 : MPI_PROC_NULL, right = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;
    int rows = rows_of(rank, size, mended);
    for (int step = 0; step < STEPS; step++) {
        MPI_Request requests[4];
        compute(rows);
        MPI_Irecv(&halo[0], 1, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(&halo[1], 1, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, &requests[1]);
        MPI_Isend(&edge[0], 1, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, &requests[2]);
        MPI_Isend(&edge[1], 1, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, &requests[3]);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        if (step % 10 == 9)
            MPI_Allreduce(&change, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
