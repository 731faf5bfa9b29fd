/* A late sender among several, waited for with MPI_Waitany: of three messages two come early, that of rank 3 every 20 ms.
 *
 * ranks: 4
 * default: rule=late_sender cause=3 site=WAIT cause_site=SEND lost=0.40 victims=0
 * exact: rule=wait_at_receiver_isend|late_standard_send|late_sender cause=3 site=WAIT cause_site=SEND lost=0.40 victims=0
 */
#include "planted.h"

int main(int argc, char **argv)
{
    double values[3] = {0};
    MPI_Request requests[3];
    begin_together(&argc, &argv);
    for (int step = 0; step < 20; step++) {
        if (rank > 0) {
            if (rank == 3)
                work(20);
            MPI_Send(values, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD); /* line SEND */
            continue;
        }
        for (int source = 1; source <= 3; source++)
            MPI_Irecv(&values[source - 1], 1, MPI_DOUBLE, source, 0, MPI_COMM_WORLD, &requests[source - 1]);
        for (int done = 0; done < 3; done++) {
            int which;
            MPI_Waitany(3, requests, &which, MPI_STATUS_IGNORE); /* line WAIT */
        }
    }
    return end();
}
