/* Messages of 100 kB to 4 MB, for which every MPI uses a rendezvous, mixed with small ones.
 *
 * First expected: rank 1 posts all receives, then rank 0 sends. Then unexpected: rank 0 starts all sends before the
 * barrier, rank 1 receives the newest first. At rank 1 half of the messages are posted matches, half unexpected.
 *
 * ranks: 2 4
 */
#include "check.h"

enum { MESSAGES = 6 };

static const int byte_counts[MESSAGES] = {100000, 8, 1000000, 0, 4 << 20, 64};

static void fill(unsigned char *bytes, int count, int seed)
{
    uint32_t state = (uint32_t)seed * 2654435761u + 1;
    for (int i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        bytes[i] = (unsigned char)(state >> 24);
    }
}

static void check_bytes(const unsigned char *bytes, int count, int seed)
{
    unsigned char *wanted = malloc((size_t)count + 1);
    REQUIRE(wanted != NULL);
    fill(wanted, count, seed);
    REQUIRE(memcmp(bytes, wanted, (size_t)count) == 0);
    for (int i = 0; i < count; i++)
        mix((uint64_t)bytes[i] + ((uint64_t)i << 8));
    free(wanted);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank = world_rank();
    unsigned char *bytes[MESSAGES];
    MPI_Request requests[MESSAGES];
    for (int i = 0; i < MESSAGES; i++) {
        bytes[i] = calloc((size_t)byte_counts[i] + 1, 1);
        REQUIRE(bytes[i] != NULL);
    }

    for (int late = 0; late <= 1; late++) {
        if (rank == 1 && !late)
            for (int i = 0; i < MESSAGES; i++)
                MPI_Irecv(bytes[i], byte_counts[i], MPI_BYTE, 0, i, MPI_COMM_WORLD, &requests[i]);
        if (!late)
            MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0)
            for (int i = 0; i < MESSAGES; i++) {
                fill(bytes[i], byte_counts[i], 10 * late + i);
                MPI_Isend(bytes[i], byte_counts[i], MPI_BYTE, 1, i, MPI_COMM_WORLD, &requests[i]);
            }
        if (late)
            MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 1 && late)
            for (int i = MESSAGES - 1; i >= 0; i--)
                MPI_Irecv(bytes[i], byte_counts[i], MPI_BYTE, 0, i, MPI_COMM_WORLD, &requests[i]);
        if (rank <= 1)
            MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE);
        if (rank == 1)
            for (int i = 0; i < MESSAGES; i++)
                check_bytes(bytes[i], byte_counts[i], 10 * late + i);
    }
    for (int i = 0; i < MESSAGES; i++)
        free(bytes[i]);
    return finish();
}
