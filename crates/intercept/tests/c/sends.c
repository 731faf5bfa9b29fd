/* Five messages to itself; each must come exactly once, with what it held. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Request requests[6];
    int in[6] = {0}, came = 0;
    for (int i = 0; i < 6; i++)
        MPI_Irecv(&in[i], 1, MPI_INT, 0, 1, MPI_COMM_SELF, &requests[i]);
    for (int i = 0; i < 5; i++) {
        int x = 100 + i;
        MPI_Send(&x, 1, MPI_INT, 0, 1, MPI_COMM_SELF);
    }
    for (int i = 0; i < 5; i++)
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    MPI_Test(&requests[5], &came, MPI_STATUS_IGNORE);
    MPI_Cancel(&requests[5]);
    MPI_Wait(&requests[5], MPI_STATUS_IGNORE);
    printf("%d %d %d %d %d %d\n", in[0], in[1], in[2], in[3], in[4], came);
    MPI_Finalize();
    return 3;
}
