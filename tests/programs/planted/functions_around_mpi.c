/* A program that calls MPI from functions of its own: the line is that in the function which receives.
 *
 * ranks: 2
 * default: rule=late_sender cause=1 site=RECV cause_site=SEND lost=0.40 victims=0
 * exact: rule=late_standard_send cause=1 site=RECV cause_site=SEND lost=0.40 victims=0 count=20
 */
#include "planted.h"

static __attribute__((noinline)) void give(double *value, int count, int peer)
{
    MPI_Send(value, count, MPI_DOUBLE, peer, 0, MPI_COMM_WORLD); /* line SEND */
}

static __attribute__((noinline)) void take(double *value, int count, int peer)
{
    MPI_Recv(value, count, MPI_DOUBLE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* line RECV */
}

int main(int argc, char **argv)
{
    double value = 0;
    begin_together(&argc, &argv);
    for (int step = 0; step < 20; step++) {
        if (rank == 0) {
            take(&value, 1, 1);
        } else {
            work(20);
            give(&value, 1, 0);
        }
    }
    return end();
}
