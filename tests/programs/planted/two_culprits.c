/* Ranks 1 and 2 come late to a sum in turn, by 20 and by 24 ms: both are named, the other one second.
 *
 * ranks: 4
 * default: rule=wait_at_nxn cause=2 site=SUM cause_site=SUM lost=0.72 victims=0,1,3
 * also: rule=wait_at_nxn cause=1 site=SUM cause_site=SUM lost=0.60 victims=0,2,3
 */
#include "planted.h"

int main(int argc, char **argv)
{
    double own = 1, sum = 0;
    begin_together(&argc, &argv);
    for (int step = 0; step < 20; step++) {
        if (rank == 1 + step % 2)
            work(rank == 1 ? 20 : 24);
        MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); /* line SUM */
    }
    return end();
}
