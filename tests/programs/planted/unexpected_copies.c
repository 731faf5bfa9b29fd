/* Copies of unexpected messages: rank 0 sends 4000 messages of 4000 bytes before rank 1 posts its first receive, so that
 * each is stored and copied.
 *
 * ranks: 2
 * default: rule=unexpected_copies cause=1 site=RECV cause_site=SEND lost=any
 * exact: rule=unexpected_copies cause=1 site=RECV cause_site=SEND lost=any
 */
#include "planted.h"

enum { MESSAGES = 4000, BYTES = 4000 };

int main(int argc, char **argv)
{
    static char data[BYTES];
    begin_together(&argc, &argv);
    for (int step = 0; step < 5; step++) {
        if (rank == 0)
            for (int i = 0; i < MESSAGES; i++)
                MPI_Send(data, BYTES, MPI_CHAR, 1, 0, MPI_COMM_WORLD); /* line SEND */
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 1)
            for (int i = 0; i < MESSAGES; i++)
                MPI_Recv(data, BYTES, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* line RECV */
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return end();
}
