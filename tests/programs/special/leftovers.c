/* Leaves behind what a program should not, or cleans up after itself.
 *
 * Args: nothing, or `clean`. Expected without it: rank 1 never receives a message and posts a receive that no message comes for; both
 * ranks do not free three of four datatypes, a communicator and a persistent request. */
#include <mpi.h>
#include <string.h>

enum { TYPES = 4 };

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, is_clean = argc > 1 && !strcmp(argv[1], "clean"), data = 0, never = 0, target = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);

    MPI_Comm copy, half;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? 0 : MPI_UNDEFINED, 0, &half);
    MPI_Win window;
    MPI_Win_create(&target, sizeof target, 1, MPI_INFO_NULL, copy, &window);
    MPI_Request persistent;
    MPI_Send_init(&data, 1, MPI_INT, MPI_PROC_NULL, 0, copy, &persistent);
    MPI_Datatype types[TYPES];
    for (int i = 0; i < TYPES; i++)
        MPI_Type_contiguous(i + 1, MPI_INT, &types[i]);

    if (rank == 0)
        MPI_Send(&data, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Request posted = MPI_REQUEST_NULL;
    if (rank == 1 && is_clean)
        MPI_Recv(&data, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1 && !is_clean)
        MPI_Irecv(&never, 1, MPI_INT, 0, 8, MPI_COMM_WORLD, &posted);
    MPI_Barrier(MPI_COMM_WORLD);

    for (int i = 0; i < (is_clean ? TYPES : 1); i++)
        MPI_Type_free(&types[i]);
    if (half != MPI_COMM_NULL)
        MPI_Comm_free(&half);
    /* MPICH 4.0 over UCX aborts in MPI_Finalize where one is left. */
    MPI_Win_free(&window);
    if (is_clean) {
        MPI_Request_free(&persistent);
        MPI_Comm_free(&copy);
    }
    MPI_Finalize();
    return 0;
}
