/* A wait without progress: rank 0 posts its receive of a large message, and works for 20 ms without calling MPI. Rank 1
 * waits for its send meanwhile, for nobody answers at rank 0.
 *
 * ranks: 2
 * exact: rule=wait_without_progress cause=0 site=WAIT lost=0.40 victims=1 count=20
 */
#include "planted.h"

static char data[LARGE];

int main(int argc, char **argv)
{
    MPI_Request request;
    char ready = 1;
    begin_together(&argc, &argv);
    for (int step = 0; step < 20; step++) {
        if (rank == 0) {
            MPI_Irecv(data, LARGE, MPI_CHAR, 1, 0, MPI_COMM_WORLD, &request);
            MPI_Send(&ready, 1, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
            work(20);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(&ready, 1, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Isend(data, LARGE, MPI_CHAR, 0, 0, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE); /* line WAIT */
        }
    }
    return end();
}
