/* A late sender on another node: ranks 0 and 2 are on one node, ranks 1 and 3 on the other. Rank 3 sends to rank 0 every 20
 * ms.
 *
 * ranks: 4
 * nodes: 2
 * default: rule=late_sender cause=3 site=RECV cause_site=SEND lost=0.40 victims=0
 * exact: rule=late_standard_send cause=3 site=RECV cause_site=SEND lost=0.40 victims=0 count=20
 */
#include "planted.h"

int main(int argc, char **argv)
{
    double value = 0;
    begin_together(&argc, &argv);
    for (int step = 0; step < 20; step++) {
        if (rank == 0) {
            MPI_Recv(&value, 1, MPI_DOUBLE, 3, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* line RECV */
        } else {
            work(20);
            if (rank == 3)
                MPI_Send(&value, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD); /* line SEND */
        }
    }
    return end();
}
