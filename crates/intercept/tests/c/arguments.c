/* Calls whose arguments and statuses are known. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int x = 7, three[3] = {7, 7, 7}, y[4] = {0}, rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Request requests[4], one;
    MPI_Comm copy;
    for (int i = 0; i < 4; i++) {
        MPI_Irecv(&y[0], 1, MPI_INT, 0, i, MPI_COMM_WORLD, &one);
        MPI_Send(&x, 1, MPI_INT, 0, i, MPI_COMM_WORLD);
        MPI_Wait(&one, MPI_STATUS_IGNORE);
    }
    MPI_Isend(three, 3, MPI_INT, 0, 40, MPI_COMM_WORLD, &one);
    MPI_Recv(&y[0], 4, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&one, MPI_STATUS_IGNORE);
    for (int i = 0; i < 2; i++) {
        MPI_Recv_init(&y[i], 1, MPI_INT, 0, 50 + i, MPI_COMM_WORLD, &requests[i]);
        MPI_Send_init(&x, 1, MPI_INT, 0, 50 + i, MPI_COMM_WORLD, &requests[2 + i]);
    }
    MPI_Startall(4, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Waitall(2, requests + 2, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 4; i++)
        MPI_Request_free(&requests[i]);
    MPI_Comm_dup(MPI_COMM_SELF, &copy);
    MPI_Comm_free(&copy);
    printf("%d %d\n", y[0], y[1]);
    MPI_Finalize();
    return 0;
}
