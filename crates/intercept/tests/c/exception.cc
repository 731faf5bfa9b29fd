// An error handler that throws through an MPI call, as C++ programs do.
#include <cstdio>
#include <mpi.h>

static void handler(MPI_Comm *, int *, ...) { throw 42; }

int main(int argc, char **argv)
{
    int x = 0, caught = 0;
    MPI_Init(&argc, &argv);
    MPI_Errhandler throwing;
    MPI_Comm_create_errhandler(handler, &throwing);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, throwing);
    for (int i = 0; i < 3; i++) {
        try {
            MPI_Send(&x, 1, MPI_INT, 1000, 0, MPI_COMM_SELF);
        } catch (int value) {
            caught += value;
        }
    }
    MPI_Barrier(MPI_COMM_SELF);
    std::printf("%d\n", caught);
    MPI_Finalize();
    return 0;
}
