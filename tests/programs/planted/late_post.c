/* Late post: rank 0 starts to access the window of rank 1, which is exposed 20 ms later. Which of its calls waits for that
 * is left to the MPI.
 *
 * ranks: 2
 * options: --profile calls,queues,rma
 * exact: rule=late_post cause=1 site=START|PUT|COMPLETE cause_site=POST lost=0.40 victims=0 count=20
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
            MPI_Win_start(other, 0, window);                             /* line START */
            MPI_Put(&value, 1, MPI_DOUBLE, 1, 0, 1, MPI_DOUBLE, window); /* line PUT */
            MPI_Win_complete(window);                                    /* line COMPLETE */
        } else {
            work(20);
            MPI_Win_post(other, 0, window); /* line POST */
            MPI_Win_wait(window);
        }
    }
    MPI_Win_free(&window);
    MPI_Group_free(&other);
    MPI_Group_free(&all);
    return end();
}
