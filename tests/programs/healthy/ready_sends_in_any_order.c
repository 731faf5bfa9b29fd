/* Ready sends whose messages are waited for in another order than they were sent: their receives have been posted before, so
 * that nothing is out of order.
 *
 * ranks: 2
 */
#include "../planted/planted.h"

int main(int argc, char **argv)
{
    int first = 0, second = 0;
    MPI_Request requests[2];
    begin_together(&argc, &argv);
    for (int step = 0; step < 20; step++) {
        if (rank == 1) {
            MPI_Irecv(&first, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &requests[0]);
            MPI_Irecv(&second, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, &requests[1]);
            MPI_Send(&first, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
            work(25);
            MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        } else {
            work(20);
            MPI_Recv(&first, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Rsend(&first, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
            MPI_Rsend(&second, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
            work(5);
        }
    }
    return end();
}
