/* Polling with a sleep between the tests: the calls take nothing, and the rank waits all the same.
 *
 * ranks: 2
 * default: rule=late_sender cause=1 site=TEST lost=0.40 victims=0
 * exact: rule=late_sender cause=1 site=TEST lost=0.40 victims=0
 * tolerance: 0.10 the rank sleeps while the message comes
 */
#include "planted.h"

int main(int argc, char **argv)
{
    int value = 0;
    begin_together(&argc, &argv);
    for (int step = 0; step < 10; step++) {
        if (rank == 1) {
            work(40);
            MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
            continue;
        }
        int come = 0;
        while (!come) {
            MPI_Iprobe(1, 0, MPI_COMM_WORLD, &come, MPI_STATUS_IGNORE); /* line TEST */
            if (!come)
                nanosleep(&(struct timespec){0, 200000}, NULL);
        }
        MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return end();
}
