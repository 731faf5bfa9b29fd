/* Long searches: rank 0 sends messages with tags 0, 1, 2 and so on, and rank 1 receives them from the last to the first,
 * each by a search of the whole unexpected queue.
 *
 * ranks: 2
 * default: rule=long_searches cause=1 site=RECV lost=any
 * exact: rule=long_searches cause=1 site=RECV lost=any place=any
 */
#include "planted.h"

enum { MESSAGES = 12000 };

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
    int value = 0;
    begin_together(&argc, &argv);
    if (rank == 0) {
        for (int tag = 0; tag < MESSAGES; tag++)
            MPI_Send(&value, 1, MPI_INT, 1, tag, MPI_COMM_WORLD);
        MPI_Send(NULL, 0, MPI_INT, 1, MESSAGES, MPI_COMM_WORLD);
    } else {
        work_until_told(0, MESSAGES);
        for (int tag = MESSAGES - 1; tag >= 0; tag--)
            MPI_Recv(&value, 1, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* line RECV */
    }
    return end();
}
