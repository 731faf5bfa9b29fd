/* A stencil in a row of four ranks, all of which work as long: nobody waits.
 *
 * ranks: 4
 */
#include "../planted/planted.h"

int main(int argc, char **argv)
{
    double out[2] = {0}, in[2];
    MPI_Request requests[4];
    begin_together(&argc, &argv);
    int left = rank > 0 ? rank - 1 : MPI_PROC_NULL, right = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
    for (int step = 0; step < 20; step++) {
        MPI_Irecv(&in[0], 1, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(&in[1], 1, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, &requests[1]);
        MPI_Isend(&out[0], 1, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, &requests[2]);
        MPI_Isend(&out[1], 1, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, &requests[3]);
        work(20);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    }
    return end();
}
