/* Early reduce: rank 1, the root, waits in MPI_Gather for rank 0, which comes 20 ms late.
 *
 * ranks: 2
 * default: rule=early_reduce cause=0 site=GATHER cause_site=GATHER lost=0.20 victims=1
 * exact: rule=early_reduce cause=0 site=GATHER cause_site=GATHER lost=0.20 victims=1 count=10
 */
#include "planted.h"

int main(int argc, char **argv)
{
    int out = 0, in[2];
    begin_together(&argc, &argv);
    for (int step = 0; step < 10; step++) {
        if (rank == 0)
            work(20);
        MPI_Gather(&out, 1, MPI_INT, in, 1, MPI_INT, 1, MPI_COMM_WORLD); /* line GATHER */
    }
    return end();
}
