/* MPI_ANY_SOURCE and MPI_ANY_TAG, first with the receives posted, then with the messages unexpected.
 *
 * The first message fits both posted receives and goes to the older one, which is the wild one; the second
 * takes the specific one. Among the unexpected messages the receives pick by tag, against the order of arrival.
 *
 * ranks: 2 4
 * events on rank 0:
 *   none
 * events on rank 1:
 *   post
 *   post source=0 tag=5
 *   match source=0 tag=5
 *   match source=0 tag=5
 *   unexpected source=0 tag=9
 *   unexpected source=0 tag=8
 *   claim tag=8
 *   claim source=0
 */
#include "check.h"

static void expect(int value, const MPI_Status *status, int wanted_value, int wanted_tag)
{
    REQUIRE(value == wanted_value);
    REQUIRE(status->MPI_SOURCE == 0);
    REQUIRE(status->MPI_TAG == wanted_tag);
    mix((uint64_t)value);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank = world_rank();
    int values[2] = {0, 0};
    MPI_Request requests[2];
    MPI_Status statuses[2];

    if (rank == 1) {
        MPI_Irecv(&values[0], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(&values[1], 1, MPI_INT, 0, 5, MPI_COMM_WORLD, &requests[1]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        const int sent[4] = {1, 2, 3, 4}, tags[4] = {5, 5, 9, 8};
        for (int i = 0; i < 4; i++)
            MPI_Send(&sent[i], 1, MPI_INT, 1, tags[i], MPI_COMM_WORLD);
    } else if (rank == 1) {
        MPI_Waitall(2, requests, statuses);
        expect(values[0], &statuses[0], 1, 5);
        expect(values[1], &statuses[1], 2, 5);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        MPI_Recv(&values[0], 1, MPI_INT, MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, &statuses[0]);
        MPI_Recv(&values[1], 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &statuses[1]);
        expect(values[0], &statuses[0], 4, 8);
        expect(values[1], &statuses[1], 3, 9);
    }
    return finish();
}
