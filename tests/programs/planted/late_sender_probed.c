/* A late sender that is waited for in MPI_Probe, as programs do that do not know the size of a message.
 *
 * ranks: 2
 * default: rule=late_sender cause=1 site=PROBE cause_site=SEND lost=0.40 victims=0
 * exact: rule=late_standard_send|late_sender cause=1 site=PROBE cause_site=SEND lost=0.40 victims=0 count=20
 */
#include "planted.h"

int main(int argc, char **argv)
{
    double value = 0;
    begin_together(&argc, &argv);
    for (int step = 0; step < 20; step++) {
        if (rank == 0) {
            MPI_Probe(1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* line PROBE */
            MPI_Recv(&value, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            work(20);
            MPI_Send(&value, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD); /* line SEND */
        }
    }
    return end();
}
