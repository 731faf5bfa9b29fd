/* Early reduce: rank 0, the root, waits in MPI_Reduce for rank 1, which comes 20 ms late.
 *
 * ranks: 2
 * default: rule=early_reduce cause=1 site=REDUCE cause_site=REDUCE lost=0.20 victims=0
 * exact: rule=early_reduce cause=1 site=REDUCE cause_site=REDUCE lost=0.20 victims=0 count=10
 */
#include "planted.h"

int main(int argc, char **argv)
{
    double mine = 1, sum;
    begin_together(&argc, &argv);
    for (int step = 0; step < 10; step++) {
        if (rank == 1)
            work(20);
        MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD); /* line REDUCE */
    }
    return end();
}
