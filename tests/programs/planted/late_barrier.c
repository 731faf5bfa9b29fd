/* Wait at barrier: rank 2 comes 20 ms late to each MPI_Barrier.
 *
 * ranks: 4
 * default: rule=wait_at_barrier cause=2 site=BARRIER cause_site=BARRIER lost=0.60 victims=0,1,3
 * exact: rule=wait_at_barrier cause=2 site=BARRIER cause_site=BARRIER lost=0.60 victims=0,1,3 count=30
 */
#include "planted.h"

int main(int argc, char **argv)
{
    begin_together(&argc, &argv);
    for (int step = 0; step < 10; step++) {
        if (rank == 2)
            work(20);
        MPI_Barrier(MPI_COMM_WORLD); /* line BARRIER */
    }
    return end();
}
