/* A barrier that is tested again and again, and the same handle for each: rank 2 comes 20 ms late to each MPI_Ibarrier.
 *
 * ranks: 3
 * default: rule=wait_at_barrier cause=2 site=TEST cause_site=IBARRIER lost=0.40 victims=0,1
 * exact: rule=wait_at_barrier cause=2 site=TEST cause_site=IBARRIER lost=0.40 victims=0,1
 */
#include "planted.h"

int main(int argc, char **argv)
{
    begin_together(&argc, &argv);
    MPI_Request request;
    for (int step = 0; step < 10; step++) {
        int done = 0;
        if (rank == 2)
            work(20);
        MPI_Ibarrier(MPI_COMM_WORLD, &request); /* line IBARRIER */
        while (!done)
            MPI_Test(&request, &done, MPI_STATUS_IGNORE); /* line TEST */
    }
    return end();
}
