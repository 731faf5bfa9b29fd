/* A slow rank that is seen in point-to-point messages only: four ranks in a row exchange halos with their neighbours, and
 * rank 1 works 10 ms more than the others in each step.
 *
 * Its neighbours wait for it in each step, rank 3 for rank 2, which is late because it waited for rank 1, from the second
 * step on.
 *
 * ranks: 4
 * default: rule=late_sender cause=1 site=WAIT cause_site=SEND lost=0.59 victims=0,2,3
 * exact: rule=wait_at_receiver_isend cause=1 site=WAIT cause_site=SEND lost=0.59 victims=0,2,3
 */
#include "planted.h"

int main(int argc, char **argv)
{
    double out[2] = {0}, in[2];
    MPI_Request requests[4];
    begin_together(&argc, &argv);
    const int neighbours[2] = {rank > 0 ? rank - 1 : MPI_PROC_NULL, rank + 1 < size ? rank + 1 : MPI_PROC_NULL};
    for (int step = 0; step < 20; step++) {
        work(rank == 1 ? 15 : 5);
        for (int side = 0; side < 2; side++) {
            MPI_Irecv(&in[side], 1, MPI_DOUBLE, neighbours[side], 0, MPI_COMM_WORLD, &requests[side]);
            MPI_Isend(&out[side], 1, MPI_DOUBLE, neighbours[side], 0, MPI_COMM_WORLD, &requests[2 + side]); /* line SEND */
        }
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE); /* line WAIT */
    }
    return end();
}
