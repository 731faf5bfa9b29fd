/* Early synchronous send: rank 0 is in MPI_Ssend 20 ms before rank 1 receives.
 *
 * ranks: 2
 * default: rule=late_receiver cause=1 site=SEND cause_site=RECV lost=0.40 victims=0
 * exact: rule=early_synchronous_send cause=1 site=SEND cause_site=RECV lost=0.40 victims=0 count=20
 */
#include "planted.h"

static char data[8];

int main(int argc, char **argv)
{
    begin_together(&argc, &argv);
    for (int step = 0; step < 20; step++) {
        if (rank == 0) {
            MPI_Ssend(data, 8, MPI_CHAR, 1, 0, MPI_COMM_WORLD); /* line SEND */
        } else {
            work(20);
            MPI_Recv(data, 8, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* line RECV */
        }
    }
    return end();
}
