/* Events of one-sided communication as a tool hears them: bound to a window, told by the thread that completed. */
#include "counting.h"

#include <pthread.h>

static int type_of(const char *name)
{
    int index = -1;
    CHECK(MPI_T_event_get_index(name, &index) == MPI_SUCCESS);
    return index;
}

static MPI_T_event_registration on(const char *name, MPI_Win win)
{
    MPI_T_event_registration made = NULL;
    CHECK(MPI_T_event_handle_alloc(type_of(name), &win, MPI_INFO_NULL, &made) == MPI_SUCCESS);
    return made;
}

/* What the last event of a registration carried, and its source. */
struct last {
    int events, target, source;
    unsigned long long address, size;
};

static void keep(MPI_T_event_instance event, MPI_T_event_registration handle, MPI_T_cb_safety safety, void *data)
{
    struct last *last = data;
    (void)handle, (void)safety;
    last->events++;
    CHECK(MPI_T_event_read(event, 0, &last->target) == MPI_SUCCESS);
    CHECK(MPI_T_event_read(event, 1, &last->address) == MPI_SUCCESS);
    CHECK(MPI_T_event_read(event, 2, &last->size) == MPI_SUCCESS);
    CHECK(MPI_T_event_get_source(event, &last->source) == MPI_SUCCESS);
}

static MPI_T_event_registration keep_last(const char *name, MPI_Win win, struct last *last)
{
    MPI_T_event_registration made = on(name, win);
    CHECK(MPI_T_event_register_callback(made, MPI_T_CB_REQUIRE_THREAD_SAFE, MPI_INFO_NULL, last, keep) == MPI_SUCCESS);
    return made;
}

static long long memory[2][8];
static long long value = 5;
static int rank;
static MPI_Win wins[2];

static void put(MPI_Win win)
{
    MPI_Win_fence(0, win);
    MPI_Put(&value, 1, MPI_LONG_LONG, rank, 3, 1, MPI_LONG_LONG, win);
    MPI_Win_fence(0, win);
}

static void window_events_are_of_their_window(void)
{
    int bind = -1, elements = 0;
    CHECK(MPI_T_event_get_info(type_of("osc_rdma_put_complete"), NULL, NULL, NULL, NULL, NULL, &elements, NULL, NULL,
                               NULL, NULL, &bind) == MPI_SUCCESS);
    CHECK(bind == MPI_T_BIND_MPI_WIN);

    /* On a communicator as before. */
    end(registration(MPI_COMM_WORLD));
    MPI_Win none = MPI_WIN_NULL;
    MPI_T_event_registration refused;
    CHECK(MPI_T_event_handle_alloc(type_of("osc_rdma_fence"), &none, MPI_INFO_NULL, &refused) != MPI_SUCCESS);

    struct last first = {0}, second = {0};
    MPI_T_event_registration one = keep_last("osc_rdma_put_complete", wins[0], &first);
    MPI_T_event_registration two = keep_last("osc_rdma_put_complete", wins[1], &second);
    put(wins[0]);
    CHECK(first.events == 1 && second.events == 0);
    CHECK(first.target == rank && first.size == sizeof value);
    put(wins[1]);
    CHECK(first.events == 1 && second.events == 1);
    CHECK(first.address == (unsigned long long)(uintptr_t)&memory[0][3]);
    CHECK(second.address == (unsigned long long)(uintptr_t)&memory[1][3]);
    end(one);
    end(two);
    put(wins[0]);
    CHECK(first.events == 1);
}

/* Rule 41. */
static void a_window_itself_is_as_good_as_its_address(void)
{
    struct seen first = {0}, second = {0};
    MPI_T_event_registration handles[2];
    for (int i = 0; i < 2; i++) {
        CHECK(MPI_T_event_handle_alloc(type_of("osc_rdma_put_complete"), AS_POINTER(wins[i]), MPI_INFO_NULL,
                                       &handles[i]) == MPI_SUCCESS);
        listen(handles[i], MPI_T_CB_REQUIRE_THREAD_SAFE, i == 0 ? &first : &second);
    }
    put(wins[0]);
    CHECK(first.events == 1 && second.events == 0);
    put(wins[1]);
    CHECK(first.events == 1 && second.events == 1);
    MPI_T_event_registration none = NULL;
    CHECK(MPI_T_event_handle_alloc(type_of("osc_rdma_fence"), AS_POINTER(MPI_WIN_NULL), MPI_INFO_NULL, &none) ==
          MPI_T_ERR_INVALID_HANDLE);
    CHECK(none == NULL);
    end(handles[0]);
    end(handles[1]);
}

static void *start(void *argument)
{
    (void)argument;
    MPI_Put(&value, 1, MPI_LONG_LONG, 0, 3, 1, MPI_LONG_LONG, wins[0]);
    return NULL;
}

static void the_source_is_the_thread_that_completed(void)
{
    struct last started = {0}, complete = {0};
    struct seen flushed = {0};
    MPI_T_event_registration one = keep_last("osc_rdma_put_started", wins[0], &started);
    MPI_T_event_registration two = keep_last("osc_rdma_put_complete", wins[0], &complete);
    MPI_T_event_registration three = on("osc_rdma_flush_complete", wins[0]);
    listen(three, MPI_T_CB_REQUIRE_THREAD_SAFE, &flushed);
    MPI_Win_lock_all(0, wins[0]);
    pthread_t other;
    pthread_create(&other, NULL, start, NULL);
    pthread_join(other, NULL);
    CHECK(started.events == 1 && complete.events == 0);
    MPI_Win_flush(0, wins[0]);
    CHECK(complete.events == 1 && flushed.events == 1);
    CHECK(started.source != complete.source);
    const int by_another = complete.source;
    MPI_Put(&value, 1, MPI_LONG_LONG, 0, 3, 1, MPI_LONG_LONG, wins[0]);
    MPI_Win_unlock_all(wins[0]);
    CHECK(complete.events == 2 && complete.source == by_another && started.source == by_another);
    end(one);
    end(two);
    end(three);
}

static int sources(void)
{
    int sources = 0;
    CHECK(MPI_T_source_get_num(&sources) == MPI_SUCCESS);
    return sources;
}

static void a_thread_that_ends_leaves_its_source_to_the_next(void)
{
    struct last started = {0};
    MPI_T_event_registration one = keep_last("osc_rdma_put_started", wins[0], &started);
    MPI_Win_lock_all(0, wins[0]);
    int before = 0, source = 0;
    for (int i = 0; i < 200; ++i) {
        pthread_t other;
        pthread_create(&other, NULL, start, NULL);
        pthread_join(other, NULL);
        if (i == 0)
            before = sources(), source = started.source;
        CHECK(started.events == i + 1 && started.source == source);
    }
    CHECK(sources() == before);
    MPI_Win_unlock_all(wins[0]);
    end(one);
}

static void what_was_completed_unheard_is_not_told_later(void)
{
    struct last started = {0}, complete = {0};
    MPI_T_event_registration one = keep_last("osc_rdma_put_started", wins[0], &started);
    MPI_Win_lock_all(0, wins[0]);
    start(NULL);
    end(one);
    MPI_Win_flush(0, wins[0]);
    MPI_T_event_registration two = keep_last("osc_rdma_put_complete", wins[0], &complete);
    MPI_Win_flush(0, wins[0]);
    CHECK(started.events == 1 && complete.events == 0);
    start(NULL);
    MPI_Win_unlock_all(wins[0]);
    CHECK(started.events == 1 && complete.events == 1);
    end(two);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 2; ++i)
        MPI_Win_create(memory[i], sizeof memory[i], sizeof value, MPI_INFO_NULL, MPI_COMM_WORLD, &wins[i]);
    RULE(window_events_are_of_their_window);
    RULE(a_window_itself_is_as_good_as_its_address);
    RULE(the_source_is_the_thread_that_completed);
    RULE(a_thread_that_ends_leaves_its_source_to_the_next);
    RULE(what_was_completed_unheard_is_not_told_later);
    for (int i = 0; i < 2; ++i)
        MPI_Win_free(&wins[i]);
    MPI_Finalize();
    MPI_T_finalize();
    return failures != 0;
}
