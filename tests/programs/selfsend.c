/* Ranks that send to themselves, on MPI_COMM_WORLD and on MPI_COMM_SELF.
 *
 * The same happens on every rank; the list names rank 0, whose source is 0 on both communicators.
 *
 * ranks: 1 2 4
 * events on rank 0:
 *   unexpected source=0 tag=1
 *   claim source=0 tag=1
 *   post source=0 tag=2
 *   match source=0 tag=2
 *   unexpected source=0 tag=1
 *   claim source=0 tag=1
 *   post source=0 tag=2
 *   match source=0 tag=2
 */
#include "check.h"

static void talk_to_self(MPI_Comm comm)
{
    int self, sent = 11, received = 0;
    MPI_Request request;
    MPI_Status status;
    MPI_Comm_rank(comm, &self);

    MPI_Isend(&sent, 1, MPI_INT, self, 1, comm, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Recv(&received, 1, MPI_INT, self, 1, comm, &status);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    REQUIRE(received == 11 && status.MPI_SOURCE == self);
    mix((uint64_t)received);

    sent = 22;
    MPI_Irecv(&received, 1, MPI_INT, self, 2, comm, &request);
    MPI_Send(&sent, 1, MPI_INT, self, 2, comm);
    MPI_Wait(&request, &status);
    REQUIRE(received == 22 && status.MPI_TAG == 2);
    mix((uint64_t)received);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    talk_to_self(MPI_COMM_WORLD);
    talk_to_self(MPI_COMM_SELF);
    return finish();
}
