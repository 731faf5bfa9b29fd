/* What a full ring loses: rank 0 sends more than anyone keeps room for while rank 1 calls no MPI at all.
 *
 * Rank 1 waits for a signal, which rank 0 sends when all its sends are started. Only a later message can show the
 * receiver that envelopes are missing, so one follows when the others are received.
 */
#define _POSIX_C_SOURCE 200809L
#include "rules.h"
#include <signal.h>
#include <unistd.h>

enum { MESSAGES = 20000, FLOOD = 2, LAST = 3 };

/* What the ring holds, as docs/how-true.md says. */
enum { CAPACITY = 16384 };

static long long told;
static int events, events_before, calls;

static void lost(MPI_Count count, MPI_T_event_registration handle, int source, MPI_T_cb_safety safety,
                 void *user_data)
{
    (void)handle, (void)source, (void)safety, (void)user_data;
    told += count;
    events_before = events;
    calls++;
}

static void arrives(MPI_T_event_instance event, MPI_T_event_registration handle, MPI_T_cb_safety safety,
                    void *user_data)
{
    (void)event, (void)handle, (void)safety, (void)user_data;
    events++;
}

static void sender(void)
{
    static int value;
    long pid = 0;
    MPI_Request *requests = malloc(MESSAGES * sizeof *requests);
    MPI_Recv(&pid, 1, MPI_LONG, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < MESSAGES; i++)
        MPI_Isend(&value, 1, MPI_INT, 1, FLOOD, MPI_COMM_WORLD, &requests[i]);
    kill((pid_t)pid, SIGUSR1);
    for (int i = 0; i < MESSAGES; i++)
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    free(requests);
    MPI_Recv(&value, 1, MPI_INT, 1, LAST, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&value, 1, MPI_INT, 1, LAST, MPI_COMM_WORLD);
}

static sigset_t signals;

/* Rules 30 and 31: the count is right, and told once, before the event that follows the loss. */
static void losses_are_told_before_the_next_event(void)
{
    int rank = 0, value = 0, number = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        sender();
        return;
    }
    MPI_T_event_registration handle = registration(MPI_COMM_WORLD);
    CHECK(MPI_T_event_register_callback(handle, MPI_T_CB_REQUIRE_MPI_RESTRICTED, MPI_INFO_NULL, NULL, arrives) ==
          MPI_SUCCESS);
    CHECK(MPI_T_event_set_dropped_handler(handle, lost) == MPI_SUCCESS);
    long pid = (long)getpid();
    MPI_Send(&pid, 1, MPI_LONG, 0, 1, MPI_COMM_WORLD);
    sigwait(&signals, &number);
    for (int i = 0; i < MESSAGES; i++)
        MPI_Recv(&value, 1, MPI_INT, 0, FLOOD, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(calls == 0);
    MPI_Send(&value, 1, MPI_INT, 0, LAST, MPI_COMM_WORLD);
    MPI_Recv(&value, 1, MPI_INT, 0, LAST, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    /* The receiver may have taken one envelope before it waited. */
    CHECK(told == MESSAGES - CAPACITY || told == MESSAGES - CAPACITY - 1);
    CHECK(calls == 1);
    CHECK(events_before == MESSAGES - told);
    CHECK(events == MESSAGES - told + 1);
    end(handle);
    CHECK(calls == 1);
}

int main(int argc, char **argv)
{
    int provided = 0;
    /* Blocked before MPI starts threads of its own, which then have it blocked, too. */
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    MPI_Init(&argc, &argv);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    RULE(losses_are_told_before_the_next_event);
    MPI_T_finalize();
    MPI_Finalize();
    return failures != 0;
}
