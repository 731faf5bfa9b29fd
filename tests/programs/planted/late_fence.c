/* A slow rank that is seen in windows only: rank 2 comes 20 ms late to each MPI_Win_fence.
 *
 * ranks: 4
 * options: --profile calls,queues,rma
 * default: rule=wait_at_fence cause=2 site=FENCE cause_site=FENCE lost=0.60 victims=0,1,3
 * exact: rule=wait_at_fence cause=2 site=FENCE cause_site=FENCE lost=0.60 victims=0,1,3 count=30
 */
#include "planted.h"

int main(int argc, char **argv)
{
    double *memory, value = 1;
    MPI_Win window;
    begin_together(&argc, &argv);
    MPI_Win_allocate(64, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    MPI_Win_fence(0, window);
    for (int step = 0; step < 10; step++) {
        MPI_Put(&value, 1, MPI_DOUBLE, (rank + 1) % size, 0, 1, MPI_DOUBLE, window);
        if (rank == 2)
            work(20);
        MPI_Win_fence(0, window); /* line FENCE */
    }
    MPI_Win_free(&window);
    return end();
}
