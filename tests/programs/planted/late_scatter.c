/* Late broadcast: rank 1, the root, comes 20 ms late to each MPI_Scatter.
 *
 * ranks: 4
 * default: rule=late_broadcast cause=1 site=SCATTER cause_site=SCATTER lost=0.60 victims=0,2,3
 * exact: rule=late_broadcast cause=1 site=SCATTER cause_site=SCATTER lost=0.60 victims=0,2,3 count=30
 */
#include "planted.h"

int main(int argc, char **argv)
{
    int out[4] = {0}, in;
    begin_together(&argc, &argv);
    for (int step = 0; step < 10; step++) {
        if (rank == 1)
            work(20);
        MPI_Scatter(out, 1, MPI_INT, &in, 1, MPI_INT, 1, MPI_COMM_WORLD); /* line SCATTER */
    }
    return end();
}
