/* A chain whose ranks work, too: rank 0 takes 20 ms for its part, ranks 1 to 3 take 5 ms each, which they have from the rank
 * before them. Rank 3 waits for rank 2, rank 2 for rank 1, and rank 1 for rank 0, 15 ms in each step.
 *
 * The first message takes 20, 25 and 30 ms to come.
 *
 * ranks: 4
 * default: rule=late_sender cause=0 site=RECV cause_site=SEND lost=0.93 victims=1,2,3
 * exact: rule=late_standard_send cause=0 site=RECV cause_site=SEND lost=0.93 victims=1,2,3
 */
#include "planted.h"

int main(int argc, char **argv)
{
    double value = 0;
    begin_together(&argc, &argv);
    for (int step = 0; step < 20; step++) {
        if (rank > 0)
            MPI_Recv(&value, 1, MPI_DOUBLE, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* line RECV */
        work(rank == 0 ? 20 : 5);
        if (rank + 1 < size)
            MPI_Send(&value, 1, MPI_DOUBLE, rank + 1, 0, MPI_COMM_WORLD); /* line SEND */
    }
    return end();
}
