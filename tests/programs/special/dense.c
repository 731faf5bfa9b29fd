/* Rank 0 sends rank 1 windows of messages as fast as it can, each of which is answered by a blocking send: more than the model follows
 * before its budget matters. With one message in a window, both receives block.
 *
 * arguments: windows, messages in each
 */
#include "../check.h"

enum { MOST = 32, TAG = 5 };

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, windows = argc > 1 ? atoi(argv[1]) : 1, values[MOST], answer = 0;
    int size = argc > 2 ? atoi(argv[2]) : MOST;
    REQUIRE(size <= MOST);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int window = 0; window < windows; window++) {
        MPI_Request requests[MOST];
        for (int i = 0; i < size; i++) {
            values[i] = rank == 0 ? window + i : -1;
            if (size == 1 && rank == 0)
                MPI_Send(&values[i], 1, MPI_INT, 1, TAG, MPI_COMM_WORLD);
            else if (size == 1)
                MPI_Recv(&values[i], 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            else if (rank == 0)
                MPI_Isend(&values[i], 1, MPI_INT, 1, TAG, MPI_COMM_WORLD, &requests[i]);
            else
                MPI_Irecv(&values[i], 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, &requests[i]);
        }
        if (size > 1)
            MPI_Waitall(size, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < size; i++)
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
