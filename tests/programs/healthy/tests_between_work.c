/* A rank works, and tests now and then for a message that comes while it does: nobody waits.
 *
 * ranks: 2
 */
#include "../planted/planted.h"

int main(int argc, char **argv)
{
    int value = 0;
    begin_together(&argc, &argv);
    for (int step = 0; step < 20; step++) {
        if (rank == 1) {
            compute(10);
            MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
            compute(10);
            continue;
        }
        MPI_Request request;
        int done = 0;
        MPI_Irecv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &request);
        for (int piece = 0; piece < 20; piece++) {
            compute(1);
            if (!done)
                MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        }
        if (!done)
            MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    return end();
}
