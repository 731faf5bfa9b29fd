/* A collective operation that waits for ranks which themselves have waited: in each step rank 0 works 20 ms and sends to
 * rank 1, and then all call MPI_Allreduce. Ranks 2 and 3 wait there for ranks 0 and 1, which come at the same time; the
 * cause of both is rank 0.
 *
 * ranks: 4
 * default: rule=wait_at_nxn cause=0 site=REDUCE cause_site=SEND|REDUCE lost=0.40 victims=2,3
 * exact: rule=wait_at_nxn cause=0 site=REDUCE cause_site=SEND|REDUCE lost=0.40 victims=2,3
 */
#include "planted.h"

int main(int argc, char **argv)
{
    double value = 1, sum;
    begin_together(&argc, &argv);
    for (int step = 0; step < 10; step++) {
        if (rank == 0) {
            work(20);
            MPI_Send(&value, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD); /* line SEND */
        } else if (rank == 1) {
            MPI_Recv(&value, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); /* line REDUCE */
    }
    return end();
}
