/* Wait at N x N: rank 3 comes 20 ms late to each MPI_Alltoall.
 *
 * ranks: 4
 * default: rule=wait_at_nxn cause=3 site=ALLTOALL cause_site=ALLTOALL lost=0.60 victims=0,1,2
 * exact: rule=wait_at_nxn cause=3 site=ALLTOALL cause_site=ALLTOALL lost=0.60 victims=0,1,2 count=30
 */
#include "planted.h"

int main(int argc, char **argv)
{
    int out[4] = {0}, in[4];
    begin_together(&argc, &argv);
    for (int step = 0; step < 10; step++) {
        if (rank == 3)
            work(20);
        MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD); /* line ALLTOALL */
    }
    return end();
}
