/* Waiting on the sender's side with {MPI_Ibsend, MPI_Irecv}: there is nothing to wait for, though rank 1 receives 20 ms
 * later.
 *
 * ranks: 2
 */
#include "../planted/planted.h"

int main(int argc, char **argv)
{
    static char buffer[40 * (8 + MPI_BSEND_OVERHEAD)];
    char data[8] = {0};
    MPI_Request request;
    begin_together(&argc, &argv);
    MPI_Buffer_attach(buffer, sizeof buffer);
    work(rank == 0 ? 0 : 20);
    for (int step = 0; step < 20; step++) {
        if (rank == 0)
            MPI_Ibsend(data, 8, MPI_CHAR, 1, 0, MPI_COMM_WORLD, &request);
        else
            MPI_Irecv(data, 8, MPI_CHAR, 0, 0, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        work(20);
    }
    work(rank == 0 ? 20 : 0);
    void *detached;
    int bytes;
    MPI_Buffer_detach(&detached, &bytes);
    return end();
}
