/* Callbacks that call MPI, from several threads at the same time: nothing is locked while they run.
 *
 * Each thread sends to its own process on a communicator of its own. For each message that arrives a callback probes for
 * messages on another communicator, registers for another event, and ends that registration.
 */
#include "../check.h"
#include <mpit_events.h>
#include <pthread.h>

enum { THREADS = 4, MESSAGES = 100 };

static MPI_Comm comms[THREADS], quiet;
static int heard[THREADS], other_event;

static void on_arrival(MPI_T_event_instance event, MPI_T_event_registration handle, MPI_T_cb_safety safety,
                       void *user_data)
{
    int flag = 1, tag = -1;
    MPI_T_event_registration another;
    (void)handle, (void)safety;
    REQUIRE(MPI_T_event_read(event, 2, &tag) == MPI_SUCCESS);
    if (tag != 5)
        return; /* the MPI's own */
    REQUIRE(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, quiet, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && !flag);
    REQUIRE(MPI_T_event_handle_alloc(other_event, &quiet, MPI_INFO_NULL, &another) == MPI_SUCCESS);
    REQUIRE(MPI_T_event_handle_free(another, NULL, NULL) == MPI_SUCCESS);
    ++*(int *)user_data;
}

static void *talk(void *comm)
{
    for (int i = 0; i < MESSAGES; i++) {
        int rank, in = -1, out = i;
        MPI_Comm_rank(*(MPI_Comm *)comm, &rank);
        MPI_Sendrecv(&out, 1, MPI_INT, rank, 5, &in, 1, MPI_INT, rank, 5, *(MPI_Comm *)comm, MPI_STATUS_IGNORE);
        REQUIRE(in == i);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided = -1, event;
    pthread_t threads[THREADS];
    MPI_T_event_registration handles[THREADS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    REQUIRE(provided == MPI_THREAD_MULTIPLE);
    REQUIRE(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided) == MPI_SUCCESS);
    REQUIRE(MPI_T_event_get_index("pml_ob1_message_arrived", &event) == MPI_SUCCESS);
    REQUIRE(MPI_T_event_get_index("pml_ob1_unex_insert", &other_event) == MPI_SUCCESS);
    MPI_Comm_dup(MPI_COMM_WORLD, &quiet);
    for (int i = 0; i < THREADS; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
        REQUIRE(MPI_T_event_handle_alloc(event, &comms[i], MPI_INFO_NULL, &handles[i]) == MPI_SUCCESS);
        REQUIRE(MPI_T_event_register_callback(handles[i], MPI_T_CB_REQUIRE_THREAD_SAFE, MPI_INFO_NULL, &heard[i],
                                              on_arrival) == MPI_SUCCESS);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, talk, &comms[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) {
        REQUIRE(MPI_T_event_handle_free(handles[i], NULL, NULL) == MPI_SUCCESS);
        REQUIRE(heard[i] == MESSAGES);
        /* A registration may outlive its communicator. */
        REQUIRE(MPI_T_event_handle_alloc(event, &comms[i], MPI_INFO_NULL, &handles[i]) == MPI_SUCCESS);
        MPI_Comm_free(&comms[i]);
        REQUIRE(MPI_T_event_handle_free(handles[i], NULL, NULL) == MPI_SUCCESS);
    }
    MPI_T_finalize();
    MPI_Comm_free(&quiet);
    return finish();
}
