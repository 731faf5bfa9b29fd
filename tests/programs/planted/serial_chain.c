/* A serial chain: ranks 1, 2 and 3 receive from the rank before them and send to the one after. Rank 0 sends every 20 ms.
 *
 * All wait for rank 0, though only rank 1 receives from it.
 *
 * ranks: 4
 * default: rule=late_sender cause=0 site=RECV cause_site=SEND lost=1.20 victims=1,2,3
 * exact: rule=late_standard_send cause=0 site=RECV cause_site=SEND lost=1.20 victims=1,2,3
 */
#include "planted.h"

int main(int argc, char **argv)
{
    double value = 0;
    begin_together(&argc, &argv);
    for (int step = 0; step < 20; step++) {
        if (rank == 0)
            work(20);
        else
            MPI_Recv(&value, 1, MPI_DOUBLE, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* line RECV */
        if (rank + 1 < size)
            MPI_Send(&value, 1, MPI_DOUBLE, rank + 1, 0, MPI_COMM_WORLD); /* line SEND */
    }
    return end();
}
