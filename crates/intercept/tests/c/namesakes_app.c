/* Uses a library with namesakes of MPI's subroutines, before and after MPI is initialised. */
#include <mpi.h>
#include <stdio.h>

double mpi_init(int, int, int, int, int, int, int, double, double);
double MPI_SEND(double, int);

int main(int argc, char **argv)
{
    int x = 0;
    printf("%g\n", mpi_init(1, 2, 3, 4, 5, 6, 7, 0.5, 8));
    MPI_Init(&argc, &argv);
    MPI_Send(&x, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    printf("%g %g\n", mpi_init(1, 2, 3, 4, 5, 6, 7, 0.5, 8), MPI_SEND(2.5, 4));
    MPI_Finalize();
    return 0;
}
