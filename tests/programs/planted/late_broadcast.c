/* Late broadcast: rank 0, the root, comes 20 ms late to each MPI_Bcast.
 *
 * ranks: 4
 * default: rule=late_broadcast cause=0 site=BCAST cause_site=BCAST lost=0.60 victims=1,2,3
 * exact: rule=late_broadcast cause=0 site=BCAST cause_site=BCAST lost=0.60 victims=1,2,3 count=30
 */
#include "planted.h"

int main(int argc, char **argv)
{
    double value = 1;
    begin_together(&argc, &argv);
    for (int step = 0; step < 10; step++) {
        if (rank == 0)
            work(20);
        MPI_Bcast(&value, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD); /* line BCAST */
    }
    return end();
}
