/* Late ready send: rank 0 is in MPI_Recv 20 ms before rank 1 sends with MPI_Rsend.
 *
 * ranks: 2
 * default: rule=late_sender cause=1 site=RECV cause_site=SEND lost=0.40 victims=0
 * exact: rule=late_ready_send cause=1 site=RECV cause_site=SEND lost=0.40 victims=0 count=20
 */
#include "planted.h"

int main(int argc, char **argv)
{
    char data[8] = {0};
    begin_together(&argc, &argv);
    for (int step = 0; step < 20; step++) {
        if (rank == 0) {
            MPI_Recv(data, 8, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* line RECV */
        } else {
            work(20);
            MPI_Rsend(data, 8, MPI_CHAR, 0, 0, MPI_COMM_WORLD); /* line SEND */
        }
    }
    return end();
}
