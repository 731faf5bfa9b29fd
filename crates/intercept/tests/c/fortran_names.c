/* Calls MPI by the names that Fortran compilers make, each spelling once; and some that are not to be seen.

   Fortran passes addresses, handles are integers, and everything returns by the last argument. */
#include <mpi.h>
#include <stdio.h>

#define SEND(name) void name(int *, int *, int *, int *, int *, int *, int *)
void mpi_init_(int *), mpi_finalize_(int *), mpi_comm_rank__(int *, int *, int *);
void mpi_waitany_(int *, int *, int *, int *, int *);
void mpi_irecv_(int *, int *, int *, int *, int *, int *, int *, int *);
SEND(mpi_send_);
SEND(mpi_send__);
SEND(mpi_send);
SEND(MPI_SEND);
SEND(pmpi_send_);

int main(void)
{
    int code = -1, one = 1, two = 2, none = MPI_PROC_NULL, rank = -1, x = 0, which = -1, status[16];
    mpi_init_(&code);
    int world = MPI_Comm_c2f(MPI_COMM_WORLD), integer = MPI_Type_c2f(MPI_INT), requests[2];
    for (int i = 0; i < 3; i++) {
        mpi_send_(&x, &one, &integer, &none, &i, &world, &code);
        mpi_send__(&x, &one, &integer, &none, &i, &world, &code);
        mpi_send(&x, &one, &integer, &none, &i, &world, &code);
        MPI_SEND(&x, &one, &integer, &none, &i, &world, &code);
        pmpi_send_(&x, &one, &integer, &none, &i, &world, &code); /* asks not to be seen on Open MPI */
    }
    mpi_comm_rank__(&world, &rank, &code);
    requests[0] = MPI_Request_c2f(MPI_REQUEST_NULL);
    mpi_irecv_(&x, &one, &integer, &none, &one, &world, &requests[1], &code);
    mpi_waitany_(&two, requests, &which, status, &code);
    printf("%d %d %d %d\n", code == MPI_SUCCESS, rank, which, requests[1] == MPI_Request_c2f(MPI_REQUEST_NULL));
    mpi_finalize_(&code);
    return 0;
}
