/* The rules where messages arrive while the program computes: MPIT_PROGRESS=thread or signal. Rank 1 sends
 * while rank 0 is outside of MPI, which is told by a file: not by messages, as rank 0 calls no MPI. */
#include "rules.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

enum { MESSAGES = 5, MANY = 200 };

static int rank, in_signal;
static const char *directory;
static pthread_t caller;

/* What callbacks have seen; written in other threads and in signal handlers. */
struct heard {
    int events, here, source, backwards;
    MPI_T_cb_safety safety;
    MPI_Count last;
};

static int get(const int *counter)
{
    return __atomic_load_n(counter, __ATOMIC_ACQUIRE);
}

static void hear(MPI_T_event_instance event, MPI_T_event_registration handle, MPI_T_cb_safety safety,
                 void *user_data)
{
    struct heard *heard = user_data;
    MPI_Count stamp = 0;
    (void)handle;
    MPI_T_event_get_source(event, &heard->source);
    MPI_T_event_get_timestamp(event, &stamp);
    heard->backwards += stamp < heard->last;
    heard->last = stamp;
    heard->safety = safety;
    heard->here = pthread_equal(pthread_self(), caller);
    __atomic_add_fetch(&heard->events, 1, __ATOMIC_RELEASE);
}

static MPI_Count reported;

static void dropped(MPI_Count lost, MPI_T_event_registration handle, int source, MPI_T_cb_safety safety,
                    void *user_data)
{
    (void)handle, (void)source, (void)user_data;
    CHECK(safety <= MPI_T_CB_REQUIRE_MPI_RESTRICTED && pthread_equal(pthread_self(), caller));
    reported += lost;
}

static MPI_T_event_registration hearing(MPI_T_cb_safety level, struct heard *heard)
{
    MPI_T_event_registration handle = registration(MPI_COMM_WORLD);
    CHECK(MPI_T_event_register_callback(handle, level, MPI_INFO_NULL, heard, hear) == MPI_SUCCESS);
    return handle;
}

/* Outside of MPI: tells the other rank that a point is reached, or waits until the other is there. */
static void tell(const char *point)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", directory, point);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL);
    if (file != NULL)
        fclose(file);
}

static void await(const char *point)
{
    char path[4096];
    struct timespec moment = {0, 1000000};
    snprintf(path, sizeof path, "%s/%s", directory, point);
    while (access(path, F_OK) != 0)
        nanosleep(&moment, NULL);
}

/* MPI may hold messages back while the receiver calls no MPI, so this waits only once all are sent. */
static void send_to_0(int messages)
{
    int out[MANY];
    MPI_Request requests[MANY];
    for (int i = 0; i < messages; i++) {
        out[i] = i;
        MPI_Isend(&out[i], 1, MPI_INT, 0, 5, MPI_COMM_WORLD, &requests[i]);
    }
    for (int i = 0; i < messages; i++)
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
}

static void receive_from_1(int messages)
{
    for (int i = 0; i < messages; i++) {
        int in = -1;
        MPI_Recv(&in, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(in == i);
    }
}

static void message_to_itself(void)
{
    int in = 0, out = 1;
    MPI_Sendrecv(&out, 1, MPI_INT, rank, 6, &in, 1, MPI_INT, rank, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Computes until the counter is there. The test has a time limit, and this has none. */
static void compute_until(const int *counter, int value)
{
    volatile double x = 1;
    while (get(counter) < value)
        x = x * 1.0000001;
}

/* Rule 17, rule 18, rule 31. */
static void messages_arrive_while_the_program_computes(void)
{
    MPI_T_cb_safety level = in_signal ? MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE : MPI_T_CB_REQUIRE_THREAD_SAFE;
    MPI_T_cb_safety below = in_signal ? MPI_T_CB_REQUIRE_THREAD_SAFE : MPI_T_CB_REQUIRE_MPI_RESTRICTED;
    char name[64] = "";
    int room = sizeof name;
    struct heard good = {0}, low = {0};
    if (rank == 1) {
        send_to_0(1);
        await("outside");
        send_to_0(MESSAGES);
        return;
    }
    receive_from_1(1);
    MPI_T_event_registration heard = hearing(level, &good), deaf = hearing(below, &low);
    CHECK(MPI_T_event_set_dropped_handler(deaf, dropped) == MPI_SUCCESS);
    tell("outside");
    compute_until(&good.events, MESSAGES);
    CHECK(good.events == MESSAGES && good.backwards == 0);
    CHECK(good.safety == level);
    CHECK(good.here == in_signal);
    CHECK(MPI_T_source_get_info(good.source, name, &room, NULL, NULL, NULL, NULL, NULL, NULL) == MPI_SUCCESS);
    CHECK(strcmp(name, in_signal ? "ob1 timer signal" : "ob1 progress thread") == 0);
    CHECK(low.events == 0 && reported == 0);
    receive_from_1(MESSAGES);
    CHECK(good.events == MESSAGES && reported == 0);
    /* An event in an MPI call: the drops are told before it, and it comes from another source. */
    int between_calls = good.source;
    message_to_itself();
    CHECK(reported == MESSAGES && low.events == 1);
    CHECK(low.safety == MPI_T_CB_REQUIRE_MPI_RESTRICTED && low.source != between_calls);
    CHECK(good.events == MESSAGES + 1 && good.safety == MPI_T_CB_REQUIRE_MPI_RESTRICTED);
    end(deaf);
    end(heard);
    CHECK(reported == MESSAGES);
}

/* Rule 20. */
static void handles_come_and_go_while_messages_arrive(void)
{
    struct heard all = {0}, some = {0};
    if (rank == 1) {
        await("registering");
        send_to_0(MANY);
        return;
    }
    MPI_T_event_registration kept = hearing(MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE, &all);
    tell("registering");
    while (get(&all.events) < MANY) {
        MPI_T_event_registration handle = hearing(MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE, &some);
        CHECK(MPI_T_event_register_callback(handle, MPI_T_CB_REQUIRE_THREAD_SAFE, MPI_INFO_NULL, &some, hear) ==
              MPI_SUCCESS);
        end(handle);
    }
    CHECK(all.events == MANY && all.backwards == 0);
    end(kept);
    receive_from_1(MANY);
}

int main(int argc, char **argv)
{
    int provided;
    const char *progress = getenv("MPIT_PROGRESS");
    caller = pthread_self();
    in_signal = progress != NULL && strcmp(progress, "signal") == 0;
    directory = argv[argc - 1];
    MPI_Init(&argc, &argv);
    MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    RULE(messages_arrive_while_the_program_computes);
    RULE(handles_come_and_go_while_messages_arrive);
    MPI_T_finalize();
    MPI_Finalize();
    return failures != 0;
}
