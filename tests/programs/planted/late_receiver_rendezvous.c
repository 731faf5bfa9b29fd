/* Late receiver: ranks 1 to 3 send a large message to rank 0, which works 20 ms before it receives any of them.
 *
 * ranks: 4
 * default: rule=late_receiver cause=0 site=SEND cause_site=RECV lost=0.60 victims=1,2,3
 * exact: rule=early_standard_send cause=0 site=SEND cause_site=RECV lost=0.60 victims=1,2,3 count=30
 * tolerance: 0.10 the messages are received one after the other, so that the later senders wait for the earlier ones, too
 */
#include "planted.h"

static char data[LARGE];

int main(int argc, char **argv)
{
    begin_together(&argc, &argv);
    for (int step = 0; step < 10; step++) {
        if (rank > 0) {
            MPI_Send(data, LARGE, MPI_CHAR, 0, 0, MPI_COMM_WORLD); /* line SEND */
            continue;
        }
        work(20);
        for (int source = 1; source < size; source++)
            MPI_Recv(data, LARGE, MPI_CHAR, source, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* line RECV */
    }
    return end();
}
