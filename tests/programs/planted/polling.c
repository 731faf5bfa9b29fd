/* Polling: rank 2 sends 20 ms late to rank 1, which tests for the message again and again. All meet in a barrier, to which rank 1 comes
 * last, and not because it works.
 *
 * ranks: 3
 * default: rule=late_sender cause=2 site=TEST lost=0.20 place=any
 * tolerance: 0.10 the last test sees the message later
 */
#include "planted.h"

int main(int argc, char **argv)
{
    int value = 0;
    begin_together(&argc, &argv);
    for (int step = 0; step < 10; step++) {
        if (rank == 2) {
            work(20);
            MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        }
        if (rank == 1) {
            MPI_Request request;
            int done = 0;
            MPI_Irecv(&value, 1, MPI_INT, 2, 0, MPI_COMM_WORLD, &request);
            while (!done)
                MPI_Test(&request, &done, MPI_STATUS_IGNORE); /* line TEST */
        }
        MPI_Barrier(MPI_COMM_WORLD); /* line BARRIER */
    }
    return end();
}
