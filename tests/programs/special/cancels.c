/* To be preloaded: makes of an MPI that never cancels a send one that cancels each synchronous send, which MPI allows. The
   message does not leave: its request stands for nothing but the end that MPI_Cancel gives it. */
#include <mpi.h>

static MPI_Request begun;

static int query(void *state, MPI_Status *status)
{
    (void)state;
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    PMPI_Status_set_elements(status, MPI_BYTE, 0);
    return PMPI_Status_set_cancelled(status, 1);
}

static int release(void *state)
{
    (void)state;
    return MPI_SUCCESS;
}

static int cancel(void *state, int complete)
{
    (void)state;
    return complete ? MPI_SUCCESS : PMPI_Grequest_complete(begun);
}

int MPI_Issend(const void *data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request *request)
{
    (void)data, (void)count, (void)type, (void)peer, (void)tag, (void)comm;
    int code = PMPI_Grequest_start(query, release, cancel, 0, request);
    begun = *request;
    return code;
}
