/* Another tool: counts the program's sends and receives, and prints those of rank 0 at MPI_Finalize. Continues with PMPI, or, where
 * compiled with NEXT, with the next function in the order of linking. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

static int sends, receives;

#ifdef NEXT
#define CONTINUE(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#else
#define CONTINUE(name) P##name
#endif

int MPI_Isend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request *request)
{
    sends++;
    return CONTINUE(MPI_Isend)(buf, count, datatype, dest, tag, comm, request);
}

int MPI_Send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    sends++;
    return CONTINUE(MPI_Send)(buf, count, datatype, dest, tag, comm);
}

int MPI_Irecv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Request *request)
{
    receives++;
    return CONTINUE(MPI_Irecv)(buf, count, datatype, source, tag, comm, request);
}

int MPI_Recv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    receives++;
    return CONTINUE(MPI_Recv)(buf, count, datatype, source, tag, comm, status);
}

int MPI_Finalize(void)
{
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    fprintf(stderr, "tool: rank %d: %d sends, %d receives\n", rank, sends, receives);
    return CONTINUE(MPI_Finalize)();
}
