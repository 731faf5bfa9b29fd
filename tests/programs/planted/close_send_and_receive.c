/* Close send and receive: rank 0 sends a large message to rank 1 and then receives one from it, where one MPI_Sendrecv could
 * do both at once. The buffers are not the same.
 *
 * ranks: 2
 * exact: rule=close_send_and_receive place=any site=SEND|RECV
 */
#include "planted.h"

static char out[LARGE], in[LARGE];

int main(int argc, char **argv)
{
    begin_together(&argc, &argv);
    for (int step = 0; step < 100; step++) {
        if (rank == 0) {
            MPI_Send(out, LARGE, MPI_CHAR, 1, 0, MPI_COMM_WORLD);                   /* line SEND */
            MPI_Recv(in, LARGE, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* line RECV */
        } else {
            MPI_Recv(in, LARGE, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(out, LARGE, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
        }
        work(3);
    }
    return end();
}
