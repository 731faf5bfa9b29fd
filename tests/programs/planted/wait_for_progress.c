/* Wait for progress: rank 1 changes the window of rank 0, which works for 20 ms without calling MPI. MPICH answers in its
 * calls only, where a window's memory is not shared; Open MPI needs no answer.
 *
 * ranks: 2
 * mpi: mpich
 * exact: rule=wait_for_progress cause=0 site=LOCK|PUT|UNLOCK lost=0.40 victims=1
 */
#include "planted.h"

int main(int argc, char **argv)
{
    static double memory[8];
    double value = 1;
    char turn = 0;
    MPI_Win window;
    begin_together(&argc, &argv);
    MPI_Win_create(memory, sizeof memory, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    for (int step = 0; step < 20; step++) {
        if (rank == 0) {
            MPI_Send(&turn, 1, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
            work(20);
            MPI_Recv(&turn, 1, MPI_CHAR, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(&turn, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);                                  /* line LOCK */
            MPI_Accumulate(&value, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, MPI_SUM, window); /* line PUT */
            MPI_Win_unlock(0, window);                                                       /* line UNLOCK */
            MPI_Send(&turn, 1, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
        }
    }
    MPI_Win_free(&window);
    return end();
}
