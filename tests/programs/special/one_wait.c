/* More messages in one call than any buffer holds: rank 1 posts N receives and waits for all of them in one call, while
 * rank 0 sends.
 */
#include "../check.h"

enum { TAGS = 1000 };

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int messages = argc > 1 ? atoi(argv[1]) : 1000;
    int *values = calloc((size_t)messages, sizeof *values);
    MPI_Request *requests = malloc((size_t)messages * sizeof *requests);
    REQUIRE(world_size() == 2 && values != NULL && requests != NULL);
    for (int i = 0; i < messages && world_rank() == 1; i++)
        MPI_Irecv(&values[i], 1, MPI_INT, 0, i % TAGS, MPI_COMM_WORLD, &requests[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank() == 0) {
        for (int i = 0; i < messages; i++)
            MPI_Send(&i, 1, MPI_INT, 1, i % TAGS, MPI_COMM_WORLD);
    } else {
        MPI_Waitall(messages, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < messages; i++) {
            REQUIRE(values[i] == i);
            mix((uint64_t)values[i]);
        }
    }
    free(requests);
    free(values);
    return finish();
}
