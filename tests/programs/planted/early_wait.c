/* Early wait: rank 1 waits for the end of the accesses to its window, which rank 0 completes 20 ms later.
 *
 * ranks: 2
 * options: --profile calls,queues,rma
 * exact: rule=early_wait cause=0 site=WAIT cause_site=COMPLETE lost=0.40 victims=1 count=20
 */
#include "planted.h"

int main(int argc, char **argv)
{
    double *memory, value = 1;
    MPI_Win window;
    MPI_Group all, other;
    begin_together(&argc, &argv);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, (int[]){!rank}, &other);
    MPI_Win_allocate(64, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    for (int step = 0; step < 20; step++) {
        if (rank == 0) {
            MPI_Win_start(other, 0, window);
            MPI_Put(&value, 1, MPI_DOUBLE, 1, 0, 1, MPI_DOUBLE, window);
            work(20);
            MPI_Win_complete(window); /* line COMPLETE */
        } else {
            MPI_Win_post(other, 0, window);
            MPI_Win_wait(window); /* line WAIT */
        }
    }
    MPI_Win_free(&window);
    MPI_Group_free(&other);
    MPI_Group_free(&all);
    return end();
}
