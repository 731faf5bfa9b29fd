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
    int left = rank > 0 ? rank - 1 : MPI_PROC_NULL, right = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
    for (int step = 0; step < 20; step++) {
        work(rank == 1 ? 15 : 5);
        MPI_Irecv(&in[0], 1, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(&in[1], 1, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, &requests[1]);
        MPI_Isend(&out[0], 1, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, &requests[2]);  /* line SEND */
        MPI_Isend(&out[1], 1, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, &requests[3]); /* line SEND */
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE); /* line WAIT */
    }
    return end();
}
