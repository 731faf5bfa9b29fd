/* Results are gathered by tag. Rank 0 takes them from the last tag to the first, while they come from the first to the last.
 *
 *     mpirun ... ./backwards           the problem
 *     mpirun ... ./backwards mended    in the order in which they come
 */
#include <mpi.h>
#include <string.h>

enum { RESULTS = 10000, DONE = RESULTS };

int main(int argc, char **argv)
{
    int rank, size;
    double value = 1, sum = 0;
    MPI_Init(&argc, &argv);
    int mended = argc > 1 && strcmp(argv[1], "mended") == 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 1) {
        for (int tag = 0; tag < RESULTS; tag++)
            MPI_Send(&value, 1, MPI_DOUBLE, 0, tag, MPI_COMM_WORLD);
        MPI_Send(NULL, 0, MPI_DOUBLE, 0, DONE, MPI_COMM_WORLD);
    } else if (rank == 0 && size > 1) {
        /* It works on something else, and looks now and then whether rank 1 is done. */
        int done = 0;
        MPI_Request request;
        MPI_Irecv(NULL, 0, MPI_DOUBLE, 1, DONE, MPI_COMM_WORLD, &request);
        while (!done)
            MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        for (int i = 0; i < RESULTS; i++) {
            int tag = mended ? i : RESULTS - 1 - i;
            MPI_Recv(&value, 1, MPI_DOUBLE, 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            sum += value;
        }
    }
    MPI_Finalize();
    return sum == (rank == 0 && size > 1 ? RESULTS : 0) ? 0 : 1;
}
