/* Lock contention: rank 0 holds the lock of its window for 20 ms, and rank 1 wants it meanwhile. Which of its calls waits
 * for that is left to the MPI.
 *
 * ranks: 2
 * options: --profile calls,queues,rma
 * exact: rule=lock_contention cause=0 site=LOCK|PUT|UNLOCK lost=0.40 victims=1 count=20
 */
#include "planted.h"

int main(int argc, char **argv)
{
    double *memory, value = 1;
    char turn = 0;
    MPI_Win window;
    begin_together(&argc, &argv);
    MPI_Win_allocate(64, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    for (int step = 0; step < 20; step++) {
        if (rank == 0) {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
            MPI_Send(&turn, 1, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
            work(20);
            MPI_Win_unlock(0, window);
            MPI_Recv(&turn, 1, MPI_CHAR, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(&turn, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);              /* line LOCK */
            MPI_Put(&value, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, window); /* line PUT */
            MPI_Win_unlock(0, window);                                   /* line UNLOCK */
            MPI_Send(&turn, 1, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
        }
    }
    MPI_Win_free(&window);
    return end();
}
