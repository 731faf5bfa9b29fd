/* The rules where several threads call MPI at the same time. */
#define _POSIX_C_SOURCE 200809L
#include "rules.h"

#include <pthread.h>

enum { THREADS = 4, MESSAGES = 200 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t all_have_begun;
static int heard, backwards, sources;
static MPI_Count last[64];

static void on_event(MPI_T_event_instance event, MPI_T_event_registration handle, MPI_T_cb_safety safety,
                     void *user_data)
{
    int source = -1;
    MPI_Count stamp = 0;
    (void)handle, (void)user_data;
    pthread_mutex_lock(&lock);
    CHECK(safety == MPI_T_CB_REQUIRE_THREAD_SAFE);
    CHECK(MPI_T_event_get_source(event, &source) == MPI_SUCCESS && source >= 0 && source < 64);
    CHECK(MPI_T_event_get_timestamp(event, &stamp) == MPI_SUCCESS);
    heard++;
    if (source >= 0 && source < 64) {
        MPI_T_source_order order;
        CHECK(MPI_T_source_get_info(source, NULL, NULL, NULL, NULL, &order, NULL, NULL, NULL) == MPI_SUCCESS);
        backwards += order == MPI_T_SOURCE_ORDERED && stamp < last[source];
        sources += last[source] == 0;
        last[source] = stamp;
    }
    pthread_mutex_unlock(&lock);
}

/* Messages to this process itself, on a communicator of the thread's own. A thread that ends leaves its source to a later one:
 * none does before all have called MPI. */
static void *talk(void *comm)
{
    for (int i = 0; i < MESSAGES; i++) {
        int rank, in = 0, out = i;
        MPI_Comm_rank(*(MPI_Comm *)comm, &rank);
        MPI_Sendrecv(&out, 1, MPI_INT, rank, 5, &in, 1, MPI_INT, rank, 5, *(MPI_Comm *)comm,
                     MPI_STATUS_IGNORE);
        if (i == 0)
            pthread_barrier_wait(&all_have_begun);
    }
    return NULL;
}

/* Rule 18, rule 26, rule 27. */
static void threads_are_heard_each_on_its_source(void)
{
    pthread_t threads[THREADS];
    MPI_Comm comms[THREADS];
    MPI_T_event_registration handles[THREADS];
    for (int i = 0; i < THREADS; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
        handles[i] = registration(comms[i]);
        CHECK(MPI_T_event_register_callback(handles[i], MPI_T_CB_REQUIRE_THREAD_SAFE, MPI_INFO_NULL, NULL,
                                            on_event) == MPI_SUCCESS);
    }
    pthread_barrier_init(&all_have_begun, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, talk, &comms[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK(heard == THREADS * MESSAGES);
    CHECK(backwards == 0 && sources == THREADS);
    for (int i = 0; i < THREADS; i++) {
        end(handles[i]);
        MPI_Comm_free(&comms[i]);
    }
}

int main(int argc, char **argv)
{
    int provided = -1;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    CHECK(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided) == MPI_SUCCESS);
    RULE(threads_are_heard_each_on_its_source);
    MPI_T_finalize();
    MPI_Finalize();
    return failures != 0;
}
