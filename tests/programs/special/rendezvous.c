/* Messages of 1 MiB between ranks 0 and 1, in steps that begin together. In the first way rank 0 sends first and works for 12 ms, and rank 1
 * posts the receive 2 ms later and works for 4 ms: data that the receiver reads go at 2 ms, what the sender writes at 12. In the second way
 * rank 1 posts first and works for 12 ms, and rank 0 sends 2 ms later and works for 4 ms: what is asked for is written at 2 ms. In the third
 * way both wait at once.
 *
 * ranks: 2
 */
#include "../planted/planted.h"

#define COUNT (1 << 20)
static char data[COUNT];

int main(int argc, char **argv)
{
    MPI_Request request;
    begin_together(&argc, &argv);
    for (int step = 0; step < 10; step++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            MPI_Isend(data, COUNT, MPI_CHAR, 1, 0, MPI_COMM_WORLD, &request); /* line SENT */
            work(12);
        } else {
            work(2);
            MPI_Irecv(data, COUNT, MPI_CHAR, 0, 0, MPI_COMM_WORLD, &request); /* line READ */
            work(4);
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            work(2);
            MPI_Isend(data, COUNT, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &request); /* line WRITTEN */
            work(4);
        } else {
            MPI_Irecv(data, COUNT, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &request); /* line ASKED */
            work(12);
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0)
            MPI_Send(data, COUNT, MPI_CHAR, 1, 2, MPI_COMM_WORLD); /* line PROMPT */
        else
            MPI_Recv(data, COUNT, MPI_CHAR, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* line TAKEN */
    }
    return end();
}
