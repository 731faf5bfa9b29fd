/* Rank 1 sends N bytes while a message for it is on its way, and asks for that message afterwards.
 *
 *   sends_that_wait N              in a blocking send
 *   sends_that_wait N nonblocking  in a nonblocking send, which it waits for
 *
 * Where a send of N bytes waits for its receiver, it makes progress, and so finds that message before its receive:
 * rank 0 sends it before it receives.
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    enum { ROUNDS = 50 };
    int rank, value = 0, bytes = argc > 1 ? atoi(argv[1]) : 0;
    int nonblocking = argc > 2 && strcmp(argv[2], "nonblocking") == 0;
    char *buffer = calloc(1, bytes + 1);
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < ROUNDS; i++) {
        if (rank == 0) {
            MPI_Send(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
            MPI_Recv(buffer, bytes, MPI_CHAR, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (rank == 1) {
            if (nonblocking) {
                MPI_Isend(buffer, bytes, MPI_CHAR, 0, 2, MPI_COMM_WORLD, &request);
                MPI_Wait(&request, MPI_STATUS_IGNORE);
            } else {
                MPI_Send(buffer, bytes, MPI_CHAR, 0, 2, MPI_COMM_WORLD);
            }
            MPI_Recv(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    MPI_Finalize();
    free(buffer);
    return 0;
}
