/* Each rank puts something into the window of the next one; all work as long between fences.
 *
 * ranks: 4
 * options: --profile calls,queues,rma
 */
#include "../planted/planted.h"

int main(int argc, char **argv)
{
    double *memory, value = 1;
    MPI_Win window;
    begin_together(&argc, &argv);
    MPI_Win_allocate(64, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    MPI_Win_fence(0, window);
    for (int step = 0; step < 10; step++) {
        MPI_Put(&value, 1, MPI_DOUBLE, (rank + 1) % size, 0, 1, MPI_DOUBLE, window);
        work(50);
        MPI_Win_fence(0, window);
    }
    MPI_Win_free(&window);
    return end();
}
