/* Lifetimes under stress: handles freed where they are in use, by several threads, and more than once.
 * The first argument, if any, is the number of rounds of each thread. */
#include "rules.h"

#include <pthread.h>

enum { THREADS = 16, SHARED = 32, MANY = 10000, MOST_ROUNDS = 1000 };

static int rounds = 150, many = MANY;

/* Everything that is told of one registration. */
struct life {
    MPI_T_event_registration handle;
    int action;
    int heard, heard_after_end, freed, ended;
};

static int add(int *counter)
{
    return __atomic_fetch_add(counter, 1, __ATOMIC_SEQ_CST);
}

static int get(const int *counter)
{
    return __atomic_load_n(counter, __ATOMIC_SEQ_CST);
}

static void on_end(MPI_T_event_registration handle, MPI_T_cb_safety safety, void *user_data)
{
    struct life *life = user_data;
    (void)handle, (void)safety;
    add(&life->ended);
}

/* Whoever comes first frees; to all others the handle is no valid one. */
static void free_once(struct life *life)
{
    int code = MPI_T_event_handle_free(life->handle, life, on_end);
    CHECK(code == MPI_SUCCESS || code == MPI_T_ERR_INVALID_HANDLE);
    if (code == MPI_SUCCESS)
        add(&life->freed);
}

enum { ACTION_FREE = 1, ACTION_REGISTER, ACTION_REPLACE };

static void on_event(MPI_T_event_instance event, MPI_T_event_registration handle, MPI_T_cb_safety safety,
                     void *user_data);

static void install(struct life *life, MPI_T_cb_safety level)
{
    /* Another thread may have freed it. */
    int code = MPI_T_event_register_callback(life->handle, level, MPI_INFO_NULL, life, on_event);
    CHECK(code == MPI_SUCCESS || code == MPI_T_ERR_INVALID_HANDLE);
}

static struct life *made[THREADS * 2 * MOST_ROUNDS];
static int num_made;

/* A registration for messages that arrive on `comm`, which does something in its callback. */
static struct life *life(MPI_Comm comm, int action)
{
    struct life *life = calloc(1, sizeof *life);
    life->action = action;
    life->handle = registration(comm);
    int place = add(&num_made);
    if (place < (int)(sizeof made / sizeof *made))
        made[place] = life;
    install(life, MPI_T_CB_REQUIRE_THREAD_SAFE);
    return life;
}

static void on_event(MPI_T_event_instance event, MPI_T_event_registration handle, MPI_T_cb_safety safety,
                     void *user_data)
{
    struct life *me = user_data;
    char all[64];
    (void)handle, (void)safety;
    if (get(&me->ended))
        add(&me->heard_after_end);
    CHECK(MPI_T_event_copy(event, all) == MPI_SUCCESS);
    if (add(&me->heard) > 0)
        return;
    switch (me->action) {
    case ACTION_FREE:
        free_once(me);
        free_once(me);
        CHECK(get(&me->ended) == 0);
        break;
    case ACTION_REGISTER:
        free_once(life(MPI_COMM_WORLD, 0));
        break;
    case ACTION_REPLACE:
        install(me, MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE);
        install(me, MPI_T_CB_REQUIRE_THREAD_SAFE);
        break;
    }
}

static void message(MPI_Comm comm)
{
    int rank, in = 0, out = 7;
    MPI_Comm_rank(comm, &rank);
    MPI_Sendrecv(&out, 1, MPI_INT, rank, 5, &in, 1, MPI_INT, rank, 5, comm, MPI_STATUS_IGNORE);
    CHECK(in == out);
}

/* All registrations of the rule that ends have ended, once each, and heard nothing afterwards. */
static void all_ended(void)
{
    int known = num_made;
    CHECK(known <= (int)(sizeof made / sizeof *made));
    for (int i = 0; i < known; i++) {
        CHECK(made[i]->freed == 1 && made[i]->ended == 1 && made[i]->heard_after_end == 0);
        CHECK(MPI_T_event_handle_free(made[i]->handle, NULL, NULL) == MPI_T_ERR_INVALID_HANDLE);
    }
    for (int i = 0; i < known; i++)
        free(made[i]);
    num_made = 0;
}

static void many_handles_hear_one_event_each(void)
{
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int i = 0; i < many; i++)
        life(comm, i % 2 ? ACTION_FREE : 0);
    message(comm);
    for (int i = 0; i < many; i++) {
        CHECK(made[i]->heard == 1);
        free_once(made[i]);
    }
    all_ended();
    MPI_Comm_free(&comm);
}

static void handles_outlive_their_communicators(void)
{
    for (int i = 0; i < 200; i++) {
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        struct life *before = life(comm, 0);
        MPI_T_event_registration silent = registration(comm);
        message(comm);
        MPI_Comm_free(&comm);
        end(silent);
        install(before, MPI_T_CB_REQUIRE_NONE);
        CHECK(before->heard == 1);
        /* A new communicator, maybe by the same handle, is another one. */
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        message(comm);
        CHECK(before->heard == 1);
        free_once(before);
        MPI_Comm_free(&comm);
    }
    all_ended();
}

static MPI_Comm comms[THREADS];
static struct life *shared[SHARED];

static void *work(void *comm)
{
    int thread = (int)((MPI_Comm *)comm - comms);
    unsigned chance = 77u + (unsigned)thread;
    for (int round = 0; round < rounds; round++) {
        chance = chance * 1103515245u + 12345u;
        unsigned pick = chance >> 16;
        /* On this thread's communicator or on another's, which raises meanwhile. */
        struct life *mine = life(comms[pick % 3 ? (unsigned)thread : pick % THREADS], (int)(pick % 4));
        message(*(MPI_Comm *)comm);
        struct life *other = __atomic_exchange_n(&shared[pick % SHARED], mine, __ATOMIC_SEQ_CST);
        if (other)
            free_once(other);
        other = __atomic_load_n(&shared[pick / 7 % SHARED], __ATOMIC_SEQ_CST);
        if (other && pick % 2)
            free_once(other);
        else if (other)
            install(other, MPI_T_CB_REQUIRE_MPI_RESTRICTED);
    }
    return NULL;
}

static void threads_register_raise_and_free_at_once(void)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, &comms[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < SHARED; i++)
        if (shared[i])
            free_once(shared[i]);
    int heard = 0;
    for (int i = 0; i < num_made; i++)
        heard += made[i]->heard;
    CHECK(num_made >= THREADS * rounds && heard >= THREADS * rounds / 4);
    all_ended();
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_free(&comms[i]);
}

int main(int argc, char **argv)
{
    int provided = -1;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    CHECK(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided) == MPI_SUCCESS);
    if (argc > 1 && atoi(argv[1]) > 0 && atoi(argv[1]) < MOST_ROUNDS) {
        rounds = atoi(argv[1]);
        many = rounds;
    }
    RULE(many_handles_hear_one_event_each);
    RULE(handles_outlive_their_communicators);
    RULE(threads_register_raise_and_free_at_once);
    MPI_T_finalize();
    MPI_Finalize();
    return failures != 0;
}
