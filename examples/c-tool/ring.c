/* Something to listen to: every rank passes three numbers on to the next one. Rank 0 posts its
 * receives before it sends, so they wait in the posted queue. */
#include <mpi.h>
#include <stdio.h>

#define ROUNDS 3

int main(int argc, char **argv)
{
    int rank, size, numbers[ROUNDS];
    MPI_Request requests[ROUNDS];
    MPI_Status statuses[ROUNDS];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    if (rank == 0) {
        for (int i = 0; i < ROUNDS; i++) {
            numbers[i] = 100 + i;
            MPI_Irecv(&numbers[i], 1, MPI_INT, previous, 10 + i, MPI_COMM_WORLD, &requests[i]);
        }
        for (int i = 0; i < ROUNDS; i++) {
            int number = 7 * i;
            MPI_Send(&number, 1, MPI_INT, next, 10 + i, MPI_COMM_WORLD);
        }
        MPI_Waitall(ROUNDS, requests, statuses);
        printf("ring: %d %d %d\n", numbers[0], numbers[1], numbers[2]);
    } else {
        for (int i = 0; i < ROUNDS; i++) {
            int number;
            MPI_Recv(&number, 1, MPI_INT, previous, 10 + i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(&number, 1, MPI_INT, next, 10 + i, MPI_COMM_WORLD);
        }
    }
    MPI_Finalize();
    return 0;
}
