/* What a wildcard costs: rank 0 receives what rank 2 has sent from any source, and so searches what rank 1 has sent with
 * another tag, each time. A receive from rank 2 would find its message at once.
 *
 * ranks: 3
 * default: rule=wildcard_cost cause=0 site=RECV lost=any
 * exact: rule=wildcard_cost cause=0 site=RECV lost=any place=any
 */
#include "planted.h"

enum { MESSAGES = 8000 };

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
    if (rank > 0) {
        for (int i = 0; i < MESSAGES; i++)
            MPI_Send(&value, 1, MPI_INT, 0, rank, MPI_COMM_WORLD);
        MPI_Send(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD);
    } else {
        work_until_told(1, 0);
        work_until_told(2, 0);
        for (int i = 0; i < MESSAGES; i++)
            MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* line RECV */
        for (int i = 0; i < MESSAGES; i++)
            MPI_Recv(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return end();
}
