/* A part that calls MPI as Fortran does: extension modules written in Fortran are such. */
#include <mpi.h>
#include <stdio.h>

void mpi_init_(int *), mpi_finalize_(int *), mpi_barrier_(int *, int *);

int run(void)
{
    int code = -1;
    mpi_init_(&code);
    int world = MPI_Comm_c2f(MPI_COMM_WORLD);
    mpi_barrier_(&world, &code);
    printf("%d\n", code == MPI_SUCCESS);
    mpi_finalize_(&code);
    return 0;
}
