/* A program that has wrappers of its own for some of MPI's functions, as libraries that measure themselves have. */
#include "../check.h"

static int sends, receives;

int MPI_Send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    sends++;
    return PMPI_Send(buf, count, datatype, dest, tag, comm);
}

int MPI_Irecv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Request *request)
{
    receives++;
    return PMPI_Irecv(buf, count, datatype, source, tag, comm, request);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank = world_rank(), size = world_size();
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    for (int round = 0; round < 10; round++) {
        int sent = 100 * round + rank, received = -1;
        MPI_Request request;
        MPI_Irecv(&received, 1, MPI_INT, left, round, MPI_COMM_WORLD, &request);
        MPI_Send(&sent, 1, MPI_INT, right, round, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        REQUIRE(received == 100 * round + left);
        mix((uint64_t)received);
    }
    REQUIRE(sends == 10 && receives == 10);
    return finish();
}
