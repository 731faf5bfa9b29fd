/* What making and freeing costs: prints the time of each. Argument: how often.
 *
 *     mpicc -O2 -o making benches/making.c
 *     mpirun -n 2 ./making 12345
 *     mpirun -n 2 mel run ./making 12345
 *
 * Where the machine does other work, times say nothing. Instructions are counted by
 *
 *     cargo test -p mel-tests -- --nocapture nothing_grows_with_the_past
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DUPLICATE, PART, WINDOW };
static const char *const names[] = {"duplicate", "part", "window"};

static void make(int what, int rank)
{
    MPI_Comm comm;
    MPI_Win window;
    void *base;
    switch (what) {
    case DUPLICATE:
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Comm_free(&comm);
        break;
    case PART:
        MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &comm);
        MPI_Comm_free(&comm);
        break;
    default:
        MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
        MPI_Win_free(&window);
    }
}

int main(int argc, char **argv)
{
    int rank, count = argc > 1 ? atoi(argv[1]) : 12345;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int what = DUPLICATE; what <= WINDOW; what++) {
        if (argc > 2 && strcmp(argv[2], names[what]))
            continue;
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = MPI_Wtime();
        for (int i = 0; i < count; i++)
            make(what, rank);
        if (rank == 0)
            printf("%s us %.2f\n", names[what], 1e6 * (MPI_Wtime() - begin) / count);
    }
    MPI_Finalize();
    return 0;
}
