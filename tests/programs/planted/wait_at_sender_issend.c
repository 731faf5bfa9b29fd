/* Waiting on the sender's side with {MPI_Issend, MPI_Irecv}: rank 0 waits for its send 20 ms before rank 1 receives.
 *
 * ranks: 2
 * default: rule=late_receiver cause=1 site=WAIT cause_site=RECV lost=0.40 victims=0
 * exact: rule=wait_at_sender_issend cause=1 site=WAIT cause_site=RECV lost=0.40 victims=0 count=20
 */
#include "planted.h"

static char data[8];

int main(int argc, char **argv)
{
    MPI_Request request;
    begin_together(&argc, &argv);
    for (int step = 0; step < 20; step++) {
        if (rank == 0) {
            MPI_Issend(data, 8, MPI_CHAR, 1, 0, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE); /* line WAIT */
        } else {
            work(20);
            MPI_Irecv(data, 8, MPI_CHAR, 0, 0, MPI_COMM_WORLD, &request); /* line RECV */
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
    }
    return end();
}
