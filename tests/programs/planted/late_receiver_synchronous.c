/* Late receiver: ranks 0 and 1 send to rank 2 with MPI_Ssend; it works 20 ms before it receives.
 *
 * ranks: 3
 * default: rule=late_receiver cause=2 site=SEND cause_site=RECV lost=0.40 victims=0,1
 * exact: rule=early_synchronous_send cause=2 site=SEND cause_site=RECV lost=0.40 victims=0,1 count=20
 */
#include "planted.h"

int main(int argc, char **argv)
{
    double value = 0;
    begin_together(&argc, &argv);
    for (int step = 0; step < 10; step++) {
        if (rank < 2) {
            MPI_Ssend(&value, 1, MPI_DOUBLE, 2, 0, MPI_COMM_WORLD); /* line SEND */
            continue;
        }
        work(20);
        for (int source = 0; source < 2; source++)
            MPI_Recv(&value, 1, MPI_DOUBLE, source, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* line RECV */
    }
    return end();
}
