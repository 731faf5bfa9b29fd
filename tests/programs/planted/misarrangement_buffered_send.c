/* Misarrangement with MPI_Bsend: rank 1 sends a message with tag 1 and, 20 ms later, one with tag 2; rank 0 receives tag 2
 * first.
 *
 * Had it received in the order of the sends, it could have had the first message meanwhile.
 *
 * ranks: 2
 * default: rule=late_sender cause=1 site=RECV cause_site=SEND lost=0.40 victims=0
 * exact: rule=misarrangement_buffered_send cause=1 site=RECV cause_site=SEND lost=0.40 victims=0 count=20
 */
#include "planted.h"

int main(int argc, char **argv)
{
    char first[8] = {0}, second[8] = {0};
    static char buffer[40 * (8 + MPI_BSEND_OVERHEAD)];
    begin_together(&argc, &argv);
    MPI_Buffer_attach(buffer, sizeof buffer);
    for (int step = 0; step < 20; step++) {
        if (rank == 0) {
            MPI_Recv(second, 8, MPI_CHAR, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* line RECV */
            MPI_Recv(first, 8, MPI_CHAR, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Bsend(first, 8, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
            work(20);
            MPI_Bsend(second, 8, MPI_CHAR, 0, 2, MPI_COMM_WORLD); /* line SEND */
        }
    }
    void *detached;
    int bytes;
    MPI_Buffer_detach(&detached, &bytes);
    return end();
}
