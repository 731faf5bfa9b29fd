/* The send modes: standard, buffered, synchronous and ready, blocking, nonblocking and persistent.
 *
 * At rank 1 every receive is posted before the barrier and matched after it, in the order of the tags.
 *
 * ranks: 2 4
 * events on rank 0:
 *   none
 * events on rank 1:
 *   post source=0 tag=1
 *   post source=0 tag=2
 *   post source=0 tag=3
 *   post source=0 tag=4
 *   post source=0 tag=5
 *   post source=0 tag=6
 *   post source=0 tag=7
 *   post source=0 tag=8
 *   post source=0 tag=9
 *   match source=0 tag=1
 *   match source=0 tag=2
 *   match source=0 tag=3
 *   match source=0 tag=4
 *   match source=0 tag=5
 *   match source=0 tag=6
 *   match source=0 tag=7
 *   match source=0 tag=8
 *   match source=0 tag=9
 */
#include "check.h"

enum { MESSAGES = 9 };

static void send_in_all_modes(void)
{
    int values[MESSAGES + 1], pack_size;
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Request request;
    for (int tag = 1; tag <= MESSAGES; tag++)
        values[tag] = 10 * tag;

    MPI_Pack_size(1, MPI_INT, comm, &pack_size);
    int bytes = 3 * (pack_size + MPI_BSEND_OVERHEAD);
    void *buffer = malloc((size_t)bytes);
    REQUIRE(buffer != NULL);
    MPI_Buffer_attach(buffer, bytes);

    MPI_Send(&values[1], 1, MPI_INT, 1, 1, comm);
    MPI_Bsend(&values[2], 1, MPI_INT, 1, 2, comm);
    MPI_Ssend(&values[3], 1, MPI_INT, 1, 3, comm);
    MPI_Rsend(&values[4], 1, MPI_INT, 1, 4, comm);

    MPI_Isend(&values[5], 1, MPI_INT, 1, 5, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Ibsend(&values[6], 1, MPI_INT, 1, 6, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Issend(&values[7], 1, MPI_INT, 1, 7, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Irsend(&values[8], 1, MPI_INT, 1, 8, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);

    MPI_Bsend_init(&values[9], 1, MPI_INT, 1, 9, comm, &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);

    MPI_Buffer_detach(&buffer, &bytes);
    free(buffer);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank = world_rank();
    int values[MESSAGES];
    MPI_Request requests[MESSAGES];

    if (rank == 1)
        for (int i = 0; i < MESSAGES; i++)
            MPI_Irecv(&values[i], 1, MPI_INT, 0, i + 1, MPI_COMM_WORLD, &requests[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        send_in_all_modes();
    } else if (rank == 1) {
        MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < MESSAGES; i++) {
            REQUIRE(values[i] == 10 * (i + 1));
            mix((uint64_t)values[i]);
        }
    }
    return finish();
}
