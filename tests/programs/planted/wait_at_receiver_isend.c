/* Waiting on the receiver's side with {MPI_Isend, MPI_Irecv}: rank 0 waits for its receive 20 ms before rank 1 sends.
 *
 * ranks: 2
 * default: rule=late_sender cause=1 site=WAIT cause_site=SEND lost=0.40 victims=0
 * exact: rule=wait_at_receiver_isend cause=1 site=WAIT cause_site=SEND lost=0.40 victims=0 count=20
 */
#include "planted.h"

int main(int argc, char **argv)
{
    char data[8] = {0};
    MPI_Request request;
    begin_together(&argc, &argv);
    for (int step = 0; step < 20; step++) {
        if (rank == 0) {
            MPI_Irecv(data, 8, MPI_CHAR, 1, 0, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE); /* line WAIT */
        } else {
            work(20);
            MPI_Isend(data, 8, MPI_CHAR, 0, 0, MPI_COMM_WORLD, &request); /* line SEND */
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
    }
    return end();
}
