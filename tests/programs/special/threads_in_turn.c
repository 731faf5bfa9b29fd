/* MPI_THREAD_SERIALIZED: what one thread posts another one sends and a third one completes, each of which then ends. No two of
 * them are there at the same time.
 *
 * Argument: number of rounds.
 */
#include "../check.h"
#include <pthread.h>

enum { WINDOW = 5 };

static int sent[WINDOW], received[WINDOW];
static MPI_Request requests[2 * WINDOW];
/* Of one round, made by one thread and used by others. */
static MPI_Comm alone;

static void *post(void *argument)
{
    int rank = world_rank(), size = world_size(), round = *(int *)argument;
    for (int i = 0; i < WINDOW; i++) {
        int source = (round + i) % 4 == 0 ? MPI_ANY_SOURCE : (rank + size - 1) % size;
        MPI_Irecv(&received[i], 1, MPI_INT, source, i, MPI_COMM_WORLD, &requests[i]);
    }
    return NULL;
}

static void *send(void *argument)
{
    int rank = world_rank(), size = world_size();
    for (int i = 0; i < WINDOW; i++) {
        sent[i] = 1000 * *(int *)argument + 10 * rank + i;
        MPI_Isend(&sent[i], 1, MPI_INT, (rank + 1) % size, i, MPI_COMM_WORLD, &requests[WINDOW + i]);
    }
    return NULL;
}

static void *complete(void *argument)
{
    (void)argument;
    MPI_Waitall(2 * WINDOW, requests, MPI_STATUSES_IGNORE);
    return NULL;
}

static void *make(void *argument)
{
    (void)argument;
    MPI_Comm_dup(MPI_COMM_SELF, &alone);
    return NULL;
}

static void *send_to_itself(void *argument)
{
    static int out;
    out = *(int *)argument;
    MPI_Isend(&out, 1, MPI_INT, 0, 9, alone, &requests[0]);
    return NULL;
}

static void *receive_from_itself(void *argument)
{
    int in = -1;
    MPI_Recv(&in, 1, MPI_INT, 0, 9, alone, MPI_STATUS_IGNORE);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    REQUIRE(in == *(int *)argument);
    MPI_Comm_free(&alone);
    return NULL;
}

static void in_a_thread(void *(*what)(void *), int *round)
{
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, what, round) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
}

int main(int argc, char **argv)
{
    int provided, rounds = argc > 1 ? atoi(argv[1]) : 10;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    REQUIRE(provided >= MPI_THREAD_SERIALIZED);
    for (int round = 0; round < rounds; round++) {
        /* The messages are expected in half of the rounds. */
        in_a_thread(round % 2 ? post : send, &round);
        MPI_Barrier(MPI_COMM_WORLD);
        in_a_thread(round % 2 ? send : post, &round);
        in_a_thread(complete, &round);
        in_a_thread(make, &round);
        in_a_thread(send_to_itself, &round);
        in_a_thread(receive_from_itself, &round);
        int left = (world_rank() + world_size() - 1) % world_size();
        for (int i = 0; i < WINDOW; i++) {
            REQUIRE(received[i] == 1000 * round + 10 * left + i);
            mix((uint64_t)received[i]);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return finish();
}
