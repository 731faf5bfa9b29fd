/* A late sender with persistent requests: rank 1 starts its send 20 ms after rank 0 waits for it.
 *
 * ranks: 2
 * default: rule=late_sender cause=1 site=WAIT cause_site=START lost=0.40 victims=0
 * exact: rule=wait_at_receiver_isend cause=1 site=WAIT cause_site=START lost=0.40 victims=0 count=20
 */
#include "planted.h"

int main(int argc, char **argv)
{
    double value = 0;
    MPI_Request request;
    begin_together(&argc, &argv);
    if (rank == 0)
        MPI_Recv_init(&value, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, &request);
    else
        MPI_Send_init(&value, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, &request);
    for (int step = 0; step < 20; step++) {
        if (rank == 1)
            work(20);
        MPI_Start(&request); /* line START */
        MPI_Wait(&request, MPI_STATUS_IGNORE); /* line WAIT */
    }
    MPI_Request_free(&request);
    return end();
}
