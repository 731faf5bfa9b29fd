/* Long searches: rank 0 sends messages with tags 0, 1, 2 and so on, and rank 1 receives them from the last to the first,
 * each by a search of the whole unexpected queue.
 *
 * ranks: 2
 * default: rule=long_searches cause=1 site=RECV lost=any
 * exact: rule=long_searches cause=1 site=RECV lost=any
 */
#include "planted.h"

enum { MESSAGES = 8000 };

int main(int argc, char **argv)
{
    int value = 0;
    begin_together(&argc, &argv);
    for (int step = 0; step < 5; step++) {
        if (rank == 0)
            for (int tag = 0; tag < MESSAGES; tag++)
                MPI_Send(&value, 1, MPI_INT, 1, tag, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 1)
            for (int tag = MESSAGES - 1; tag >= 0; tag--)
                MPI_Recv(&value, 1, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* line RECV */
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return end();
}
