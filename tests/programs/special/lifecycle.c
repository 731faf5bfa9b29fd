/* Communicators and a window are made, named and freed; between that passes time. */
#include <mpi.h>
#include <time.h>

static void pass(void)
{
    struct timespec time = {0, 30000000};
    nanosleep(&time, 0);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm first, second;
    MPI_Win win;
    int memory[16] = {0};
    MPI_Comm_dup(MPI_COMM_WORLD, &first);
    MPI_Comm_dup(MPI_COMM_WORLD, &second);
    MPI_Comm_set_name(first, "first");
    MPI_Comm_set_name(second, "second");
    MPI_Comm_set_name(second, "again");
    MPI_Comm_free(&first);
    pass();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_create(memory, sizeof memory, 4, MPI_INFO_NULL, second, &win);
    MPI_Win_free(&win);
    MPI_Comm_free(&second);
    MPI_Finalize();
    return 0;
}
