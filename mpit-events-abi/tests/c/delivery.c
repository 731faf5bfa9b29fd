/* The rules on what callbacks are given, and when. Two processes, which do the same. */
#include "counting.h"

/* A message of this process to itself: one message arrives. (From another process, the next one might
 * have arrived already.) */
static void message(MPI_Comm comm)
{
    int rank, in = 0, out = 1;
    MPI_Comm_rank(comm, &rank);
    MPI_Sendrecv(&out, 1, MPI_INT, rank, 5, &in, 1, MPI_INT, rank, 5, comm, MPI_STATUS_IGNORE);
}

/* Allocated before MPI_Init, freed after MPI_Finalize. */
static MPI_T_event_registration early;
static struct seen early_seen;
/* The same, with the handle itself in place of its address. */
static MPI_T_event_registration early_itself;
static struct seen early_itself_seen;

/* Rule 3. */
static void handles_made_before_mpi_init_deliver(void)
{
    int before = early_seen.events;
    message(MPI_COMM_WORLD);
    CHECK(early_seen.events == before + 1);
    CHECK(early_seen.registration == early);
}

static MPI_T_event_registration registration_itself(MPI_Comm comm)
{
    MPI_T_event_registration made = NULL;
    CHECK(MPI_T_event_handle_alloc(arrived(), AS_POINTER(comm), MPI_INFO_NULL, &made) == MPI_SUCCESS);
    CHECK(made != NULL);
    return made;
}

/* Rule 41. */
static void a_handle_itself_is_as_good_as_its_address(void)
{
    enum { WORLD, SELF, OTHER, BY_ADDRESS, NUM };
    struct seen seen[NUM] = {{0}};
    MPI_Comm other;
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MPI_T_event_registration handles[NUM] = {registration_itself(MPI_COMM_WORLD), registration_itself(MPI_COMM_SELF),
                                             registration_itself(other), registration(other)};
    for (int i = 0; i < NUM; i++)
        listen(handles[i], MPI_T_CB_REQUIRE_THREAD_SAFE, &seen[i]);
    const int before = early_itself_seen.events;
    message(MPI_COMM_WORLD);
    CHECK(seen[WORLD].events == 1 && seen[SELF].events == 0 && seen[OTHER].events == 0);
    CHECK(early_itself_seen.events == before + 1);
    message(MPI_COMM_SELF);
    CHECK(seen[WORLD].events == 1 && seen[SELF].events == 1 && seen[OTHER].events == 0);
    message(other);
    message(other);
    CHECK(seen[WORLD].events == 1 && seen[SELF].events == 1 && seen[OTHER].events == 2);
    CHECK(seen[BY_ADDRESS].events == 2);
    MPI_Comm_free(&other);
    for (int i = 0; i < NUM; i++)
        end(handles[i]);

    MPI_T_event_registration none = NULL;
    CHECK(MPI_T_event_handle_alloc(arrived(), AS_POINTER(MPI_COMM_NULL), MPI_INFO_NULL, &none) ==
          MPI_T_ERR_INVALID_HANDLE);
    if (sizeof(MPI_Comm) == 4) {
        /* Without its sign, as a number that is unsigned becomes a pointer. */
        MPI_Comm_dup(MPI_COMM_WORLD, &other);
        void *const unsign = (void *)(uintptr_t)(uint32_t)(intptr_t)other;
        CHECK(MPI_T_event_handle_alloc(arrived(), unsign, MPI_INFO_NULL, &none) == MPI_SUCCESS);
        struct seen heard = {0};
        listen(none, MPI_T_CB_REQUIRE_THREAD_SAFE, &heard);
        message(other);
        CHECK(heard.events == 1);
        end(none);
        MPI_Comm_free(&other);
    }
}

/* Rule 8, rule 36. */
static void infos_are_new_and_free(void)
{
    struct seen seen = {0};
    MPI_Info info[5];
    int keys = -1;
    MPI_T_event_registration handle = registration(MPI_COMM_WORLD);
    listen(handle, MPI_T_CB_REQUIRE_THREAD_SAFE, &seen);
    CHECK(MPI_T_event_get_info(arrived(), NULL, NULL, NULL, NULL, NULL, NULL, NULL, &info[0], NULL, NULL, NULL) ==
          MPI_SUCCESS);
    CHECK(MPI_T_source_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, &info[1]) == MPI_SUCCESS);
    CHECK(MPI_T_event_handle_get_info(handle, &info[2]) == MPI_SUCCESS);
    CHECK(MPI_T_event_callback_get_info(handle, MPI_T_CB_REQUIRE_THREAD_SAFE, &info[3]) == MPI_SUCCESS);
    CHECK(MPI_T_event_handle_get_info(handle, &info[4]) == MPI_SUCCESS && info[4] != info[2]);
    for (int i = 0; i < 5; i++) {
        CHECK(info[i] != MPI_INFO_NULL);
        CHECK(MPI_Info_get_nkeys(info[i], &keys) == MPI_SUCCESS && keys == 0);
        CHECK(MPI_Info_free(&info[i]) == MPI_SUCCESS && info[i] == MPI_INFO_NULL);
    }
    CHECK(MPI_T_event_handle_set_info(handle, MPI_INFO_NULL) == MPI_SUCCESS);
    end(handle);
}

/* Whether an info object, which is freed, has these keys with these values and no others. */
static int has_just(MPI_Info info, int number, const char *const entries[][2])
{
    int keys = -1, right = 0;
    MPI_Info_get_nkeys(info, &keys);
    for (int i = 0; i < number; i++) {
        char value[64] = "";
        int there = 0;
        MPI_Info_get(info, entries[i][0], sizeof value - 1, value, &there);
        right += there && strcmp(value, entries[i][1]) == 0;
    }
    MPI_Info_free(&info);
    return keys == number && right == number;
}

/* Rule 42. */
static void hints_are_kept_and_given_back(void)
{
    static const char *const given[][2] = {{"mpit_colour", "red"}, {"mpit_size", "1"}};
    static const char *const updated[][2] = {{"mpit_colour", "red"}, {"mpit_size", "22"}, {"mpit_new", "x"}};
    const MPI_T_cb_safety safe = MPI_T_CB_REQUIRE_THREAD_SAFE, none = MPI_T_CB_REQUIRE_NONE;
    struct seen seen = {0};
    MPI_Info first, second, back;
    MPI_T_event_registration handle = NULL;
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Info_create(&first);
    MPI_Info_create(&second);
    for (int i = 0; i < 2; i++)
        MPI_Info_set(first, given[i][0], given[i][1]);
    for (int i = 1; i < 3; i++)
        MPI_Info_set(second, updated[i][0], updated[i][1]);

    CHECK(MPI_T_event_handle_alloc(arrived(), &world, first, &handle) == MPI_SUCCESS);
    CHECK(MPI_T_event_handle_get_info(handle, &back) == MPI_SUCCESS && has_just(back, 2, given));
    CHECK(MPI_T_event_handle_set_info(handle, second) == MPI_SUCCESS);
    CHECK(MPI_T_event_handle_set_info(handle, MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_T_event_handle_get_info(handle, &back) == MPI_SUCCESS && has_just(back, 3, updated));

    /* Each callback has its own. */
    CHECK(MPI_T_event_register_callback(handle, safe, first, &seen, count) == MPI_SUCCESS);
    listen(handle, none, &seen);
    CHECK(MPI_T_event_callback_get_info(handle, safe, &back) == MPI_SUCCESS && has_just(back, 2, given));
    CHECK(MPI_T_event_callback_get_info(handle, none, &back) == MPI_SUCCESS && has_just(back, 0, given));
    CHECK(MPI_T_event_callback_set_info(handle, safe, second) == MPI_SUCCESS);
    MPI_Info_free(&first);
    MPI_Info_free(&second);
    CHECK(MPI_T_event_callback_get_info(handle, safe, &back) == MPI_SUCCESS && has_just(back, 3, updated));
    CHECK(MPI_T_event_handle_get_info(handle, &back) == MPI_SUCCESS && has_just(back, 3, updated));

    /* Another callback begins without, and so does another registration. */
    listen(handle, safe, &seen);
    CHECK(MPI_T_event_callback_get_info(handle, safe, &back) == MPI_SUCCESS && has_just(back, 0, given));
    end(handle);
    handle = registration(MPI_COMM_WORLD);
    CHECK(MPI_T_event_handle_get_info(handle, &back) == MPI_SUCCESS && has_just(back, 0, given));
    end(handle);
}

/* "D" for a report of drops, "C" for a callback, in order. */
static char order[16];
static MPI_Count reported;
static MPI_T_cb_safety reported_at;

static void dropped(MPI_Count lost, MPI_T_event_registration handle, int source, MPI_T_cb_safety safety,
                    void *user_data)
{
    (void)handle;
    CHECK(source >= 0 && user_data == NULL);
    strcat(order, "D");
    reported += lost;
    reported_at = safety;
}

/* Rule 13, rule 14. */
static void a_registration_hears_its_object_only(void)
{
    MPI_Comm other;
    struct seen on_world = {0}, on_other = {0};
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MPI_T_event_registration world = registration(MPI_COMM_WORLD), bound = registration(other);
    listen(world, MPI_T_CB_REQUIRE_THREAD_SAFE, &on_world);
    listen(bound, MPI_T_CB_REQUIRE_THREAD_SAFE, &on_other);
    reported = 0;
    CHECK(MPI_T_event_set_dropped_handler(bound, dropped) == MPI_SUCCESS);
    message(MPI_COMM_WORLD);
    message(other);
    message(other);
    CHECK(on_world.events == 1 && on_other.events == 2);
    /* The object may go before its registration. */
    MPI_Comm_free(&other);
    message(MPI_COMM_WORLD);
    CHECK(on_world.events == 2 && on_other.events == 2);
    end(world);
    end(bound);
    /* What it did not hear was not lost. */
    CHECK(reported == 0);
}

/* Rule 15. */
static void many_registrations_hear_every_event(void)
{
    enum { MANY = 40 };
    MPI_T_event_registration handles[MANY];
    struct seen seen[MANY] = {{0}};
    for (int i = 0; i < MANY; i++) {
        handles[i] = registration(MPI_COMM_WORLD);
        listen(handles[i], MPI_T_CB_REQUIRE_MPI_RESTRICTED, &seen[i]);
    }
    message(MPI_COMM_WORLD);
    end(handles[7]);
    message(MPI_COMM_WORLD);
    for (int i = 0; i < MANY; i++) {
        CHECK(seen[i].events == (i == 7 ? 1 : 2) && seen[i].registration == handles[i]);
        if (i != 7)
            end(handles[i]);
    }
}

/* Rule 16, rule 17, rule 18, rule 19. */
static void the_lowest_sufficient_level_is_called(void)
{
    struct seen none = {0}, restricted = {0}, threads = {0}, signals = {0};
    MPI_T_event_registration handle = registration(MPI_COMM_WORLD);
    listen(handle, MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE, &signals);
    message(MPI_COMM_WORLD);
    CHECK(signals.events == 1 && signals.safety == MPI_T_CB_REQUIRE_MPI_RESTRICTED);
    listen(handle, MPI_T_CB_REQUIRE_THREAD_SAFE, &threads);
    message(MPI_COMM_WORLD);
    CHECK(threads.events == 1 && threads.safety == MPI_T_CB_REQUIRE_MPI_RESTRICTED);
    listen(handle, MPI_T_CB_REQUIRE_MPI_RESTRICTED, &restricted);
    listen(handle, MPI_T_CB_REQUIRE_NONE, &none);
    message(MPI_COMM_WORLD);
    CHECK(restricted.events == 1 && none.events == 0 && threads.events == 1 && signals.events == 1);
    /* Replaced by another, then removed. */
    struct seen replaced = {0};
    listen(handle, MPI_T_CB_REQUIRE_MPI_RESTRICTED, &replaced);
    message(MPI_COMM_WORLD);
    CHECK(replaced.events == 1 && restricted.events == 1);
    CHECK(MPI_T_event_register_callback(handle, MPI_T_CB_REQUIRE_MPI_RESTRICTED, MPI_INFO_NULL, NULL, NULL) ==
          MPI_SUCCESS);
    message(MPI_COMM_WORLD);
    CHECK(replaced.events == 1 && threads.events == 2);
    end(handle);
}

static void note(MPI_T_event_instance event, MPI_T_event_registration handle, MPI_T_cb_safety safety,
                 void *user_data)
{
    (void)event, (void)handle, (void)safety, (void)user_data;
    strcat(order, "C");
}

/* Rule 31. */
static void drops_are_told_once_before_the_next_event(void)
{
    MPI_T_event_registration handle = registration(MPI_COMM_WORLD);
    order[0] = '\0';
    reported = 0;
    CHECK(MPI_T_event_set_dropped_handler(handle, dropped) == MPI_SUCCESS);
    CHECK(MPI_T_event_register_callback(handle, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, NULL, note) == MPI_SUCCESS);
    for (int i = 0; i < 3; i++)
        message(MPI_COMM_WORLD);
    CHECK(strcmp(order, "") == 0);
    CHECK(MPI_T_event_register_callback(handle, MPI_T_CB_REQUIRE_THREAD_SAFE, MPI_INFO_NULL, NULL, note) ==
          MPI_SUCCESS);
    message(MPI_COMM_WORLD);
    message(MPI_COMM_WORLD);
    CHECK(strcmp(order, "DCC") == 0 && reported == 3 && reported_at == MPI_T_CB_REQUIRE_MPI_RESTRICTED);
    end(handle);
    CHECK(strcmp(order, "DCC") == 0);
}

/* Rule 30, rule 32, rule 33. */
static void drops_are_told_at_the_end(void)
{
    MPI_T_event_registration handle = registration(MPI_COMM_WORLD);
    order[0] = '\0';
    reported = 0;
    /* What was lost before there was a handler is not its affair. */
    message(MPI_COMM_WORLD);
    CHECK(MPI_T_event_set_dropped_handler(handle, dropped) == MPI_SUCCESS);
    for (int i = 0; i < 5; i++)
        message(MPI_COMM_WORLD);
    CHECK(reported == 0);
    end(handle);
    CHECK(strcmp(order, "D") == 0 && reported == 5 && reported_at == MPI_T_CB_REQUIRE_NONE);
}

/* What a callback reads of its event. */
struct reading {
    int events, rank;
    MPI_Count last;
};

static void read_all(MPI_T_event_instance event, MPI_T_event_registration handle, MPI_T_cb_safety safety,
                     void *user_data)
{
    struct reading *reading = user_data;
    unsigned char whole[20];
    int source_rank = -7, tag[2] = {-7, -7}, source = -1, sources = 0;
    MPI_Count stamp = -1, now = -1;
    (void)handle, (void)safety;
    reading->events++;
    CHECK(MPI_T_event_read(event, 1, &source_rank) == MPI_SUCCESS && source_rank == reading->rank);
    CHECK(MPI_T_event_read(event, 2, &tag[0]) == MPI_SUCCESS && tag[0] == 5 && tag[1] == -7);
    CHECK(MPI_T_event_read(event, 4, &tag[1]) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_event_read(event, -1, &tag[1]) == MPI_T_ERR_INVALID_INDEX && tag[1] == -7);
    CHECK(MPI_T_event_read(event, 0, NULL) == MPI_ERR_ARG);
    CHECK(MPI_T_event_copy(event, NULL) == MPI_ERR_ARG);
    memset(whole, 0xa5, sizeof whole);
    CHECK(MPI_T_event_copy(event, whole) == MPI_SUCCESS);
    CHECK(memcmp(whole + 4, &source_rank, 4) == 0 && memcmp(whole + 8, &tag[0], 4) == 0);
    CHECK(whole[16] == 0xa5 && whole[17] == 0xa5 && whole[18] == 0xa5 && whole[19] == 0xa5);
    CHECK(MPI_T_source_get_num(&sources) == MPI_SUCCESS);
    CHECK(MPI_T_event_get_source(event, &source) == MPI_SUCCESS && source >= 0 && source < sources);
    CHECK(MPI_T_event_get_source(event, NULL) == MPI_ERR_ARG);
    CHECK(MPI_T_event_get_timestamp(event, NULL) == MPI_ERR_ARG);
    CHECK(MPI_T_event_get_timestamp(event, &stamp) == MPI_SUCCESS && stamp > 0 && stamp >= reading->last);
    CHECK(MPI_T_source_get_timestamp(source, &now) == MPI_SUCCESS && now >= stamp);
    reading->last = stamp;
}

/* Rule 24, rule 25, rule 26, rule 27. */
static void events_are_read_and_copied_exactly(void)
{
    struct reading reading = {0};
    MPI_T_event_registration handle = registration(MPI_COMM_WORLD);
    MPI_Comm_rank(MPI_COMM_WORLD, &reading.rank);
    CHECK(MPI_T_event_register_callback(handle, MPI_T_CB_REQUIRE_THREAD_SAFE, MPI_INFO_NULL, &reading, read_all) ==
          MPI_SUCCESS);
    for (int i = 0; i < 10; i++)
        message(MPI_COMM_WORLD);
    CHECK(reading.events == 10);
    end(handle);
}

/* Rule 28, rule 29. */
static void sources_describe_their_clock(void)
{
    int num = 0;
    MPI_Count before = 0, after = 0;
    CHECK(MPI_T_source_get_num(&num) == MPI_SUCCESS && num > 0);
    for (int i = 0; i < num; i++) {
        char name[64], desc[128];
        int name_len = sizeof name, desc_len = sizeof desc;
        MPI_T_source_order order_of = (MPI_T_source_order)-1;
        MPI_Count rate = 0, most = 0;
        CHECK(MPI_T_source_get_info(i, name, &name_len, desc, &desc_len, &order_of, &rate, &most, NULL) ==
              MPI_SUCCESS);
        CHECK(name_len > 1 && name_len == (int)strlen(name) + 1 && desc_len > 1);
        CHECK(order_of == MPI_T_SOURCE_ORDERED || order_of == MPI_T_SOURCE_UNORDERED);
        CHECK(rate >= 1000000 && most > 0);
        CHECK(MPI_T_source_get_timestamp(i, NULL) == MPI_ERR_ARG);
        CHECK(MPI_T_source_get_timestamp(i, &before) == MPI_SUCCESS);
        CHECK(MPI_T_source_get_timestamp(i, &after) == MPI_SUCCESS && after >= before && before > 0);
        /* Since the start of this program, not since 1970 or the start of the machine; the MPI's own may. */
        CHECK(after / rate < 3600 || strcmp(name, "RECVQ") == 0);
    }
}

static struct seen newcomer_seen;
static MPI_T_event_registration newcomer;
static int own_calls, own_frees;

static void freed(MPI_T_event_registration handle, MPI_T_cb_safety safety, void *user_data)
{
    (void)handle;
    CHECK(safety == MPI_T_CB_REQUIRE_NONE && user_data == &own_frees);
    own_frees++;
}

static void end_itself(MPI_T_event_instance event, MPI_T_event_registration handle, MPI_T_cb_safety safety,
                       void *user_data)
{
    int tag = -1;
    (void)safety, (void)user_data;
    own_calls++;
    newcomer = registration(MPI_COMM_WORLD);
    listen(newcomer, MPI_T_CB_REQUIRE_THREAD_SAFE, &newcomer_seen);
    CHECK(MPI_T_event_handle_free(handle, &own_frees, freed) == MPI_SUCCESS);
    CHECK(own_frees == 0);
    CHECK(MPI_T_event_handle_free(handle, &own_frees, freed) == MPI_T_ERR_INVALID_HANDLE);
    /* The event is still there, although the registration is not. */
    CHECK(MPI_T_event_read(event, 2, &tag) == MPI_SUCCESS && tag == 5);
}

/* Rule 20, rule 21, rule 34. */
static void callbacks_may_register_and_free(void)
{
    MPI_T_event_registration handle = registration(MPI_COMM_WORLD);
    CHECK(MPI_T_event_register_callback(handle, MPI_T_CB_REQUIRE_THREAD_SAFE, MPI_INFO_NULL, NULL, end_itself) ==
          MPI_SUCCESS);
    message(MPI_COMM_WORLD);
    CHECK(own_calls == 1 && own_frees == 1 && newcomer_seen.events == 0);
    message(MPI_COMM_WORLD);
    CHECK(own_calls == 1 && own_frees == 1 && newcomer_seen.events == 1);
    end(newcomer);
}

/* Rule 3. */
static void registrations_may_be_freed_after_mpi_finalize(void)
{
    int before = early_seen.events;
    end(early);
    end(early_itself);
    CHECK(before > 0 && early_seen.events == before);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided);
    early = registration(MPI_COMM_WORLD);
    listen(early, MPI_T_CB_REQUIRE_THREAD_SAFE, &early_seen);
    early_itself = registration_itself(MPI_COMM_WORLD);
    listen(early_itself, MPI_T_CB_REQUIRE_THREAD_SAFE, &early_itself_seen);
    MPI_Init(&argc, &argv);
    RULE(handles_made_before_mpi_init_deliver);
    RULE(a_handle_itself_is_as_good_as_its_address);
    RULE(infos_are_new_and_free);
    RULE(hints_are_kept_and_given_back);
    RULE(a_registration_hears_its_object_only);
    RULE(many_registrations_hear_every_event);
    RULE(the_lowest_sufficient_level_is_called);
    RULE(drops_are_told_once_before_the_next_event);
    RULE(drops_are_told_at_the_end);
    RULE(events_are_read_and_copied_exactly);
    RULE(sources_describe_their_clock);
    RULE(callbacks_may_register_and_free);
    MPI_Finalize();
    RULE(registrations_may_be_freed_after_mpi_finalize);
    MPI_T_finalize();
    return failures != 0;
}
