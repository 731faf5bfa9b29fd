/* Every other rank sends to rank 0: first into posted wild receives, then unexpected.
 *
 * At rank 0, with P ranks: 3 (P-1) receives are posted, 3 (P-1) messages match them in any order of sources,
 * then 3 (P-1) messages are unexpected and claimed source by source, the last source first.
 *
 * ranks: 2 4
 */
#include "check.h"

enum { EACH = 3, EARLY_TAG = 1, LATE_TAG = 2 };

static void send_all(int rank, int tag)
{
    for (int i = 0; i < EACH; i++) {
        int value = 1000 * rank + 10 * i + tag;
        MPI_Send(&value, 1, MPI_INT, 0, tag, MPI_COMM_WORLD);
    }
}

static void receive_posted(int messages, int *values, MPI_Request *requests)
{
    int next[64] = {0};
    MPI_Status *statuses = malloc((size_t)messages * sizeof *statuses);
    REQUIRE(statuses != NULL);
    MPI_Waitall(messages, requests, statuses);
    for (int i = 0; i < messages; i++) {
        int source = statuses[i].MPI_SOURCE;
        REQUIRE(source > 0 && source < 64);
        /* The messages of one source fill the receives in the order in which they were sent. */
        REQUIRE(values[i] == 1000 * source + 10 * next[source]++ + EARLY_TAG);
        mix((uint64_t)values[i]);
    }
    free(statuses);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank = world_rank(), size = world_size();
    int messages = EACH * (size - 1);
    int *values = calloc((size_t)messages + 1, sizeof *values);
    MPI_Request *requests = malloc(((size_t)messages + 1) * sizeof *requests);
    REQUIRE(size <= 64 && values != NULL && requests != NULL);

    if (rank == 0)
        for (int i = 0; i < messages; i++)
            MPI_Irecv(&values[i], 1, MPI_INT, MPI_ANY_SOURCE, EARLY_TAG, MPI_COMM_WORLD, &requests[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        receive_posted(messages, values, requests);
    } else {
        send_all(rank, EARLY_TAG);
        send_all(rank, LATE_TAG);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        for (int source = size - 1; source > 0; source--) {
            for (int i = 0; i < EACH; i++) {
                int value = 0;
                MPI_Recv(&value, 1, MPI_INT, source, LATE_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                REQUIRE(value == 1000 * source + 10 * i + LATE_TAG);
                mix((uint64_t)value);
            }
        }
    }
    free(requests);
    free(values);
    return finish();
}
