/* A program that has its own MPI_Send and MPI_Recv, which call PMPI_Send and PMPI_Recv.
 *
 * ranks: 2
 * default: rule=late_sender cause=1 site=RECV cause_site=SEND lost=0.40 victims=0
 * exact: rule=late_standard_send cause=1 site=RECV cause_site=SEND lost=0.40 victims=0 count=20
 */
#include "planted.h"

int MPI_Send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    int error = PMPI_Send(buf, count, datatype, dest, tag, comm); /* line SEND */
    return error;
}

int MPI_Recv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    int error = PMPI_Recv(buf, count, datatype, source, tag, comm, status); /* line RECV */
    return error;
}

int main(int argc, char **argv)
{
    double value = 0;
    begin_together(&argc, &argv);
    for (int step = 0; step < 20; step++) {
        if (rank == 0) {
            MPI_Recv(&value, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* line RECV */
        } else {
            work(20);
            MPI_Send(&value, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD); /* line SEND */
        }
    }
    return end();
}
