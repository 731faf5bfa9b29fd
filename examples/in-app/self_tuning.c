/* An application that listens to its own message queues and tunes itself.
 *
 * In each phase every rank gets a batch of messages from its left neighbour. A message whose receive
 * is posted already goes straight to its place; all others wait in the queue of unexpected messages
 * and are copied twice. Posting a receive early costs a buffer that is held for the whole phase, so
 * the application begins without, counts what came unexpected on its own communicator, and posts
 * more receives early in the next phase while that pays.
 *
 * See README.md for how to build and run it. */
#include <mpit_events.h>
#include <stdatomic.h>
#include <stdio.h>

enum { PHASES = 6, BATCH = 32, LENGTH = 256 };

static double received[BATCH][LENGTH], sent[BATCH][LENGTH];

/* Runs inside MPI: it counts, and does nothing else. */
static void count(MPI_T_event_instance event, MPI_T_event_registration registration, MPI_T_cb_safety safety,
                  void *counter)
{
    (void)event, (void)registration, (void)safety;
    atomic_fetch_add_explicit((atomic_int *)counter, 1, memory_order_relaxed);
}

/* Counts the unexpected messages of a communicator; null where that cannot be had, and then the
 * application runs as it would have without. */
static MPI_T_event_registration listen(MPI_Comm comm, atomic_int *counter)
{
    MPI_T_event_registration registration = NULL;
    int index;
    if (MPI_T_event_get_index("pml_ob1_unex_insert", &index) != MPI_SUCCESS ||
        MPI_T_event_handle_alloc(index, &comm, MPI_INFO_NULL, &registration) != MPI_SUCCESS)
        return NULL;
    /* One thread calls MPI here, so this level is enough. */
    if (MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_MPI_RESTRICTED, MPI_INFO_NULL, counter,
                                      count) == MPI_SUCCESS)
        return registration;
    MPI_T_event_handle_free(registration, NULL, NULL);
    return NULL;
}

static void post(MPI_Comm comm, int left, int first, int end, MPI_Request *requests)
{
    for (int i = first; i < end; i++)
        MPI_Irecv(received[i], LENGTH, MPI_DOUBLE, left, i, comm, &requests[i]);
}

/* One phase, with so many receives posted before anybody sends. */
static void exchange(MPI_Comm comm, int early)
{
    MPI_Request requests[2 * BATCH], *receives = requests, *sends = requests + BATCH;
    MPI_Status statuses[2 * BATCH];
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    int left = (rank + size - 1) % size, right = (rank + 1) % size;

    post(comm, left, 0, early, receives);
    MPI_Barrier(comm);
    for (int i = 0; i < BATCH; i++)
        MPI_Isend(sent[i], LENGTH, MPI_DOUBLE, right, i, comm, &sends[i]);
    /* Here an application computes; the messages come meanwhile. */
    MPI_Barrier(comm);
    post(comm, left, early, BATCH, receives);
    MPI_Waitall(2 * BATCH, requests, statuses);
}

int main(int argc, char **argv)
{
    int provided, rank, size, early = 0;
    atomic_int unexpected = 0;
    MPI_Comm field;
    MPI_Init(&argc, &argv);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    /* A communicator of its own, so that libraries' messages are not counted. */
    MPI_Comm_dup(MPI_COMM_WORLD, &field);
    MPI_Comm_rank(field, &rank);
    MPI_Comm_size(field, &size);
    MPI_T_event_registration registration = listen(field, &unexpected);
    if (registration == NULL && rank == 0)
        printf("no events of unexpected messages here: nothing is tuned\n");

    for (int phase = 0; phase < PHASES; phase++) {
        exchange(field, early);
        int mine = atomic_exchange(&unexpected, 0), all = 0;
        MPI_Reduce(&mine, &all, 1, MPI_INT, MPI_SUM, 0, field);
        if (rank == 0 && registration != NULL)
            printf("phase %d: %2d receives posted early, %3d of %d messages unexpected\n", phase, early, all,
                   BATCH * size);
        /* Each rank decides for itself: more than an eighth is worth some buffers. */
        if (mine > BATCH / 8)
            early = early == 0 ? BATCH / 8 : early * 2 < BATCH ? early * 2 : BATCH;
    }

    if (registration != NULL)
        MPI_T_event_handle_free(registration, NULL, NULL);
    MPI_Comm_free(&field);
    MPI_T_finalize();
    MPI_Finalize();
    return 0;
}
