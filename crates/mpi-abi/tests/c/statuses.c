/* Lets the library under test read statuses (with one process) and requests (with two) whose contents are known. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

void abi_probe_status(void *status);
void abi_probe_requests(void *requests, int count);

static char out[1 << 20], in[1 << 20];

static void statuses(void)
{
    MPI_Status status;
    MPI_Request request;

    MPI_Irecv(in, 100, MPI_CHAR, 0, 17, MPI_COMM_SELF, &request);
    MPI_Send(out, 42, MPI_CHAR, 0, 17, MPI_COMM_SELF);
    MPI_Wait(&request, &status);
    status.MPI_ERROR = 5;
    abi_probe_status(&status);

    MPI_Irecv(in, 100, MPI_CHAR, 0, 18, MPI_COMM_SELF, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    int cancelled;
    MPI_Test_cancelled(&status, &cancelled);
    printf("MPI says %d\n", cancelled);
    fflush(stdout);
    status.MPI_SOURCE = status.MPI_TAG = status.MPI_ERROR = 0;
    abi_probe_status(&status);

    /* Five billion bytes, were they sent: the count is in two words where an int is too small. */
    MPI_Status_set_elements_x(&status, MPI_BYTE, 5000000000LL);
    MPI_Status_set_cancelled(&status, 0);
    abi_probe_status(&status);
}

/* Small sends to somebody else may be complete at once; receives are not. */
static void requests_of(int rank)
{
    MPI_Request requests[4];
    int other = 1 - rank;
    MPI_Irecv(in, 8, MPI_CHAR, other, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, 8, MPI_CHAR, other, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(out, 8, MPI_CHAR, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[2]);
    requests[3] = MPI_REQUEST_NULL;
    if (rank == 0)
        abi_probe_requests(requests, 4);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size == 1)
        statuses();
    else
        requests_of(rank);
    MPI_Finalize();
    return 0;
}
