/* A late sender in MPI_Sendrecv: each rank sends to the right and receives from the left, around a ring; rank 2 works 10 ms
 * more than the others. Rank 3 waits for it in each step, rank 0 for rank 3 from the second step on, and rank 1 from the
 * third.
 *
 * ranks: 4
 * default: rule=late_sender cause=2 site=EXCHANGE cause_site=EXCHANGE lost=0.57 victims=0,1,3
 * exact: rule=late_sender|late_standard_send cause=2 site=EXCHANGE cause_site=EXCHANGE lost=0.57 victims=0,1,3
 */
#include "planted.h"

int main(int argc, char **argv)
{
    double out = 1, in;
    begin_together(&argc, &argv);
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    for (int step = 0; step < 20; step++) {
        work(rank == 2 ? 15 : 5);
        MPI_Sendrecv(&out, 1, MPI_DOUBLE, right, 0, &in, 1, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, /* line EXCHANGE */
                     MPI_STATUS_IGNORE);
    }
    return end();
}
