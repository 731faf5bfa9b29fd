/* More messages than any buffer holds: rank 0 starts N nonblocking sends while rank 1 calls no MPI at all.
 *
 * Rank 1 waits for a signal, which rank 0 sends when all its sends are started; only then it receives, in order.
 */
#define _POSIX_C_SOURCE 200809L
#include "../check.h"
#include <signal.h>
#include <unistd.h>

static void sender(int messages)
{
    long pid = 0;
    MPI_Recv(&pid, 1, MPI_LONG, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    int *values = malloc((size_t)messages * sizeof *values);
    MPI_Request *requests = malloc((size_t)messages * sizeof *requests);
    REQUIRE(values != NULL && requests != NULL);
    for (int i = 0; i < messages; i++) {
        values[i] = i;
        MPI_Isend(&values[i], 1, MPI_INT, 1, 2, MPI_COMM_WORLD, &requests[i]);
    }
    REQUIRE(kill((pid_t)pid, SIGUSR1) == 0);
    MPI_Waitall(messages, requests, MPI_STATUSES_IGNORE);
    free(requests);
    free(values);
}

static void receiver(int messages, const sigset_t *signals)
{
    long pid = (long)getpid();
    MPI_Send(&pid, 1, MPI_LONG, 0, 1, MPI_COMM_WORLD);
    int number = 0;
    REQUIRE(sigwait(signals, &number) == 0 && number == SIGUSR1);
    for (int i = 0; i < messages; i++) {
        int value = -1;
        MPI_Recv(&value, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        REQUIRE(value == i);
        mix((uint64_t)value);
    }
}

int main(int argc, char **argv)
{
    /* Blocked before MPI starts threads of its own, which then have it blocked, too. */
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    sigprocmask(SIG_BLOCK, &signals, NULL);

    MPI_Init(&argc, &argv);
    int rank = world_rank(), messages = argc > 1 ? atoi(argv[1]) : 20000;
    if (rank == 0)
        sender(messages);
    else if (rank == 1)
        receiver(messages, &signals);
    return finish();
}
