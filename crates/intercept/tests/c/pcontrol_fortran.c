/* MPI_PCONTROL as Fortran compilers call it: one argument, and no error code. */
#include <mpi.h>

void mpi_pcontrol_(int *), mpi_pcontrol__(int *), mpi_pcontrol(int *), MPI_PCONTROL(int *);

int main(int argc, char **argv)
{
    int level = 1;
    MPI_Init(&argc, &argv);
    mpi_pcontrol_(&level);
    mpi_pcontrol__(&level);
    mpi_pcontrol(&level);
    MPI_PCONTROL(&level);
    MPI_Finalize();
    return 0;
}
