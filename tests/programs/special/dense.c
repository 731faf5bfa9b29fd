/* Rank 0 sends rank 1 windows of messages as fast as it can, each of which is answered by a blocking send: more than the model follows
 * before its budget matters.
 *
 * arguments: windows
 */
#include "../check.h"

enum { WINDOW = 32, TAG = 5 };

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, windows = argc > 1 ? atoi(argv[1]) : 1, values[WINDOW], answer = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int window = 0; window < windows; window++) {
        MPI_Request requests[WINDOW];
        for (int i = 0; i < WINDOW; i++) {
            values[i] = rank == 0 ? window + i : -1;
            if (rank == 0)
                MPI_Isend(&values[i], 1, MPI_INT, 1, TAG, MPI_COMM_WORLD, &requests[i]);
            else
                MPI_Irecv(&values[i], 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, &requests[i]);
        }
        MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < WINDOW; i++)
            REQUIRE(values[i] == window + i);
        if (rank == 0) {
            MPI_Recv(&answer, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            REQUIRE(answer == window);
        } else {
            MPI_Send(&window, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD);
        }
    }
    return finish();
}
