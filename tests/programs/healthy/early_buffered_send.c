/* Early buffered send: rank 0 sends with MPI_Bsend long before rank 1 receives, and does not wait for it.
 *
 * ranks: 2
 */
#include "../planted/planted.h"

int main(int argc, char **argv)
{
    static char buffer[40 * (8 + MPI_BSEND_OVERHEAD)];
    char data[8] = {0};
    begin_together(&argc, &argv);
    MPI_Buffer_attach(buffer, sizeof buffer);
    work(rank == 0 ? 0 : 20);
    for (int step = 0; step < 20; step++) {
        if (rank == 0)
            MPI_Bsend(data, 8, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
        work(20);
        if (rank == 1)
            MPI_Recv(data, 8, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    work(rank == 0 ? 20 : 0);
    void *detached;
    int bytes;
    MPI_Buffer_detach(&detached, &bytes);
    return end();
}
