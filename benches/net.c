/* Operations of one size on all ranks, for what `mel run --profile net` costs.
 *
 * net OPERATION BYTES COUNT: OPERATION is bcast, reduce, scatter, alltoall or pingpong; BYTES are those of a message: of each part, for
 * scatter and alltoall. Prints the microseconds of one operation, the mean over COUNT of them on the slowest rank, for each of five
 * batches, on one line.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCHES = 5 };

static char *memory(size_t size)
{
    char *made = malloc(size ? size : 1);
    if (!made) MPI_Abort(MPI_COMM_WORLD, 1);
    memset(made, 1, size);
    return made;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc != 4) {
        if (rank == 0) fprintf(stderr, "usage: net bcast|reduce|scatter|alltoall|pingpong BYTES COUNT\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    const char *operation = argv[1];
    int bytes = atoi(argv[2]), count = atoi(argv[3]);
    char *from = memory((size_t)bytes * size), *to = memory((size_t)bytes * size);
    for (int batch = -1; batch < BATCHES; batch++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = MPI_Wtime(), taken, most;
        for (int i = 0; i < count; i++) {
            if (!strcmp(operation, "bcast")) {
                MPI_Bcast(from, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
            } else if (!strcmp(operation, "reduce")) {
                MPI_Reduce(from, to, bytes, MPI_SIGNED_CHAR, MPI_SUM, 0, MPI_COMM_WORLD);
            } else if (!strcmp(operation, "scatter")) {
                MPI_Scatter(from, bytes, MPI_BYTE, to, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
            } else if (!strcmp(operation, "alltoall")) {
                MPI_Alltoall(from, bytes, MPI_BYTE, to, bytes, MPI_BYTE, MPI_COMM_WORLD);
            } else if (rank < 2) {
                if (rank == 0) MPI_Send(from, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
                MPI_Recv(to, bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                if (rank == 1) MPI_Send(from, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
            }
        }
        taken = (MPI_Wtime() - begin) / count;
        MPI_Reduce(&taken, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
        /* The first batch connects. */
        if (rank == 0 && batch >= 0) printf("%.3f%c", 1e6 * most, batch + 1 < BATCHES ? ' ' : '\n');
    }
    free(from);
    free(to);
    MPI_Finalize();
    return 0;
}
