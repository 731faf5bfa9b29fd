/* A slow rank that is seen in collective operations only: rank 1 comes 20 ms late to each MPI_Allreduce.
 *
 * ranks: 4
 * default: rule=wait_at_nxn cause=1 site=REDUCE cause_site=REDUCE lost=0.60 victims=0,2,3
 * exact: rule=wait_at_nxn cause=1 site=REDUCE cause_site=REDUCE lost=0.60 victims=0,2,3 count=30
 */
#include "planted.h"

int main(int argc, char **argv)
{
    double mine = 1, sum;
    begin_together(&argc, &argv);
    for (int step = 0; step < 10; step++) {
        if (rank == 1)
            work(20);
        MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); /* line REDUCE */
    }
    return end();
}
