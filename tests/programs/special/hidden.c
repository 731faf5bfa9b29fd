/* Rank 1 receives from rank 0, three messages in each of 20 steps that begin together: one while it works for 6 ms of the 9 that rank 0
 * needs; one while it works for 6 ms, which is there at once; and one that it only waits for, 4 ms.
 *
 * ranks: 2
 */
#include "../planted/planted.h"

static double buffer[3];

static void receive(int which, double work_ms, double late_ms)
{
    MPI_Request request;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        work(late_ms);
        MPI_Send(&buffer[which], 1, MPI_DOUBLE, 1, which, MPI_COMM_WORLD);
        return;
    }
    if (which == 0)
        MPI_Irecv(&buffer[which], 1, MPI_DOUBLE, 0, which, MPI_COMM_WORLD, &request); /* line PARTLY */
    else if (which == 1)
        MPI_Irecv(&buffer[which], 1, MPI_DOUBLE, 0, which, MPI_COMM_WORLD, &request); /* line HIDDEN */
    else
        MPI_Irecv(&buffer[which], 1, MPI_DOUBLE, 0, which, MPI_COMM_WORLD, &request); /* line NAKED */
    if (work_ms > 0)
        work(work_ms);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    begin_together(&argc, &argv);
    for (int step = 0; step < 20; step++) {
        receive(0, 6, 9);
        receive(1, 6, 0);
        receive(2, 0, 4);
    }
    return end();
}
