/* Partitioned messages from each rank to its right neighbour, where the MPI has them. */
#include "../check.h"

enum { PARTITIONS = 4, SIZE = 50 };

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
    int rank = world_rank(), size = world_size();
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    static int out[PARTITIONS * SIZE], in[PARTITIONS * SIZE];
    MPI_Request requests[2];
    MPI_Psend_init(out, PARTITIONS, SIZE, MPI_INT, right, 6, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    MPI_Precv_init(in, PARTITIONS, SIZE, MPI_INT, left, 6, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    for (int round = 0; round < 3; round++) {
        MPI_Startall(2, requests);
        for (int part = 0; part < PARTITIONS; part++) {
            for (int i = part * SIZE; i < (part + 1) * SIZE; i++)
                out[i] = 1000 * round + 10 * i + rank;
            MPI_Pready(part, requests[0]);
        }
        int arrived = 0;
        while (!arrived)
            MPI_Parrived(requests[1], 0, &arrived);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < PARTITIONS * SIZE; i++)
            REQUIRE(in[i] == 1000 * round + 10 * i + left);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    int whole = -1;
    MPI_Sendrecv(&rank, 1, MPI_INT, right, 7, &whole, 1, MPI_INT, left, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    REQUIRE(whole == left);
#else
    if (world_rank() == 0)
        puts("no partitioned messages");
#endif
    return finish();
}
