/* Receives whose status nobody asks for: what was matched, and how long it was, the program does not learn.
 *
 * At rank 1 six receives are posted, two of them wild, and matched; then two messages are claimed.
 *
 * ranks: 2 4
 * events on rank 1:
 *   post
 *   post source=0
 *   post source=0 tag=3
 *   post source=0 tag=4
 *   post source=0 tag=5
 *   post source=0 tag=6
 *   match source=0 tag=1
 *   match source=0 tag=2
 *   match source=0 tag=3
 *   match source=0 tag=4
 *   match source=0 tag=5
 *   match source=0 tag=6
 *   unexpected source=0 tag=7
 *   unexpected source=0 tag=8
 *   claim tag=7
 *   claim source=0 tag=8
 */
#include "check.h"

static void receiver_of_posted(int *values, MPI_Request *requests)
{
    int index, count, indices[2], done = 0;
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Waitall(1, &requests[1], MPI_STATUSES_IGNORE);
    MPI_Waitany(1, &requests[2], &index, MPI_STATUS_IGNORE);
    MPI_Waitsome(1, &requests[3], &count, indices, MPI_STATUSES_IGNORE);
    while (!done)
        MPI_Test(&requests[4], &done, MPI_STATUS_IGNORE);
    for (done = 0; !done;)
        MPI_Testall(1, &requests[5], &done, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 6; i++) {
        REQUIRE(values[i] == i + 1);
        mix((uint64_t)values[i]);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank = world_rank(), values[6];
    MPI_Request requests[6];

    if (rank == 1)
        for (int i = 0; i < 6; i++)
            MPI_Irecv(&values[i], 1, MPI_INT, i == 0 ? MPI_ANY_SOURCE : 0,
                      i < 2 ? MPI_ANY_TAG : i + 1, MPI_COMM_WORLD, &requests[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        for (int tag = 1; tag <= 8; tag++)
            MPI_Send(&tag, 1, MPI_INT, 1, tag, MPI_COMM_WORLD);
    else if (rank == 1)
        receiver_of_posted(values, requests);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        for (int tag = 7; tag <= 8; tag++) {
            int value = 0;
            MPI_Recv(&value, 1, MPI_INT, tag == 7 ? MPI_ANY_SOURCE : 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            REQUIRE(value == tag);
            mix((uint64_t)value);
        }
    }
    return finish();
}
