/* A stencil that agrees on something in each step: the ranks exchange halos, work, and call MPI_Allreduce. Rank 2 works 20
 * ms more than the others, which wait for it in MPI_Allreduce.
 *
 * ranks: 4
 * default: rule=wait_at_nxn cause=2 site=REDUCE cause_site=REDUCE lost=0.60 victims=0,1,3
 * exact: rule=wait_at_nxn cause=2 site=REDUCE cause_site=REDUCE lost=0.60 victims=0,1,3 count=30
 */
#include "planted.h"

int main(int argc, char **argv)
{
    double out[2] = {0}, in[2], mine = 1, largest;
    MPI_Request requests[4];
    begin_together(&argc, &argv);
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    for (int step = 0; step < 10; step++) {
        MPI_Irecv(&in[0], 1, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(&in[1], 1, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, &requests[1]);
        MPI_Isend(&out[0], 1, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, &requests[2]);
        MPI_Isend(&out[1], 1, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, &requests[3]);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        work(rank == 2 ? 25 : 5);
        MPI_Allreduce(&mine, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD); /* line REDUCE */
    }
    return end();
}
