/* Copies of unexpected messages: ten times, rank 0 sends 4000 messages of 4000 bytes before rank 1 posts its first receive,
 * so that each is stored and copied. The memory for them is new the first time alone.
 *
 * ranks: 2
 * default: rule=unexpected_copies place=any cause=1 site=RECV cause_site=SEND lost=any
 * exact: rule=unexpected_copies place=any cause=1 site=RECV cause_site=SEND lost=any
 */
#include "planted.h"

enum { ROUNDS = 10, MESSAGES = 4000, BYTES = 4000 };

/* Looks for a message, as a program does that works meanwhile. */
static void work_until_told(int source, int tag)
{
    int told = 0;
    MPI_Request request;
    MPI_Irecv(NULL, 0, MPI_INT, source, tag, MPI_COMM_WORLD, &request);
    while (!told)
        MPI_Test(&request, &told, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    static char data[BYTES];
    begin_together(&argc, &argv);
    for (int round = 0; round < ROUNDS; round++) {
        if (rank == 0) {
            for (int i = 0; i < MESSAGES; i++)
                MPI_Send(data, BYTES, MPI_CHAR, 1, 0, MPI_COMM_WORLD); /* line SEND */
            MPI_Send(NULL, 0, MPI_INT, 1, 1, MPI_COMM_WORLD);
            work_until_told(1, 1);
        } else {
            work_until_told(0, 1);
            for (int i = 0; i < MESSAGES; i++)
                MPI_Recv(data, BYTES, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* line RECV */
            MPI_Send(NULL, 0, MPI_INT, 0, 1, MPI_COMM_WORLD);
        }
    }
    return end();
}
