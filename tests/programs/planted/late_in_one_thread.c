/* Several threads: each of two ranks has two, which exchange messages on a communicator of their own. On the second, rank 1
 * sends 20 ms late.
 *
 * ranks: 2
 * default: rule=late_sender cause=1 site=RECV cause_site=SEND lost=0.40 victims=0 communicator=second
 * exact: rule=late_standard_send cause=1 site=RECV cause_site=SEND lost=0.40 victims=0 communicator=second count=20
 */
#include "planted.h"

#include <pthread.h>

static MPI_Comm first, second;

/* Back and forth, without an end between, as long as the other thread works. */
static void *exchange(void *nothing)
{
    int value = 0;
    for (int turn = 0; turn < 40; turn++) {
        MPI_Sendrecv_replace(&value, 1, MPI_INT, !rank, 0, !rank, 0, first, MPI_STATUS_IGNORE);
        struct timespec time = {0, 10000000};
        nanosleep(&time, NULL);
    }
    return nothing;
}

int main(int argc, char **argv)
{
    double value = 0;
    pthread_t thread;
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided < MPI_THREAD_MULTIPLE)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    start_watch();
    MPI_Comm_dup(MPI_COMM_WORLD, &first);
    MPI_Comm_dup(MPI_COMM_WORLD, &second);
    MPI_Comm_set_name(first, "first");
    MPI_Comm_set_name(second, "second");
    pthread_create(&thread, NULL, exchange, NULL);
    for (int step = 0; step < 20; step++) {
        if (rank == 0) {
            MPI_Recv(&value, 1, MPI_DOUBLE, 1, 0, second, MPI_STATUS_IGNORE); /* line RECV */
        } else {
            work(20);
            MPI_Send(&value, 1, MPI_DOUBLE, 0, 0, second); /* line SEND */
        }
    }
    pthread_join(thread, NULL);
    MPI_Comm_free(&second);
    MPI_Comm_free(&first);
    return end();
}
