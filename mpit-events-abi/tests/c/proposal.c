/* The rules in the proposal's dialect, in the paper's own words. Two processes, which do the same. */
#include "rules.h"

#include <limits.h>

/* From here on, the proposal. What rules.h has, registration() and end(), is the standard's. */
#define MPIT_EVENTS_PROPOSAL
#include <mpit_events.h>

/* A message of this process to itself: one message arrives. */
static void message(MPI_Comm comm)
{
    int rank, in = 0, out = 1;
    MPI_Comm_rank(comm, &rank);
    MPI_Sendrecv(&out, 1, MPI_INT, rank, 5, &in, 1, MPI_INT, rank, 5, comm, MPI_STATUS_IGNORE);
}

/* What a callback has seen. */
struct seen {
    int events, frees, reports, lost;
    MPI_T_event_registration registration;
    MPI_T_event_cb_safety safety;
};

static void count(MPI_T_event_instance event, MPI_T_event_registration handle, MPI_T_event_cb_safety safety,
                  void *user_data)
{
    struct seen *seen = user_data;
    (void)event;
    seen->events++;
    seen->registration = handle;
    seen->safety = safety;
}

static void freed(MPI_T_event_registration handle, MPI_T_event_cb_safety safety, void *user_data)
{
    struct seen *seen = user_data;
    CHECK(safety == MPI_T_CB_REQUIRE_NONE);
    CHECK(seen != NULL);
    if (seen != NULL) {
        seen->frees++;
        seen->registration = handle;
    }
}

static void dropped(int lost, MPI_T_event_registration handle, MPI_T_event_cb_safety safety, void *user_data)
{
    struct seen *seen = user_data;
    (void)safety;
    seen->reports++;
    seen->lost += lost;
    seen->registration = handle;
}

static MPI_T_event_registration listen(MPI_Comm comm, struct seen *seen)
{
    MPI_T_event_registration made = NULL;
    CHECK(MPI_T_event_handle_alloc(arrived(), &comm, seen, count, &made) == MPI_SUCCESS && made != NULL);
    return made;
}

/* Rule 1. */
static void nothing_works_without_initialisation(void)
{
    const int refused = MPI_T_ERR_NOT_INITIALIZED;
    int number = 0;
    MPI_Count ticks = 0;
    MPI_T_event_registration handle = NULL;
    CHECK(MPI_T_event_get_num(&number) == refused);
    CHECK(MPI_T_event_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) == refused);
    CHECK(MPI_T_event_get_index(ARRIVED, &number) == refused);
    CHECK(MPI_T_event_handle_alloc(0, NULL, NULL, count, &handle) == refused);
    CHECK(MPI_T_event_handle_free(handle, NULL) == refused);
    CHECK(MPI_T_event_set_dropped_handler(handle, NULL) == refused);
    CHECK(MPI_T_event_read(NULL, 0, &number, sizeof number) == refused);
    CHECK(MPI_T_event_copy(NULL, &number, sizeof number) == refused);
    CHECK(MPI_T_event_get_timestamp(NULL, &ticks) == refused);
    CHECK(MPI_T_event_get_source(NULL, &number) == refused);
    CHECK(MPI_T_source_get_num(&number) == refused);
    CHECK(MPI_T_source_get_info(0, NULL, NULL, NULL, NULL) == refused);
    CHECK(MPI_T_source_get_timestamp(0, &ticks) == refused);
}

/* Rule 9. */
static void types_tell_their_extent(void)
{
    int num = 0;
    CHECK(MPI_T_event_get_num(&num) == MPI_SUCCESS && num >= 16);
    for (int i = 0; i < num; i++) {
        char name[64];
        int length = sizeof name, elements = 8, index = -1;
        MPI_Datatype types[8];
        MPI_Aint displacements[8], extent = -1;
        MPI_T_enum names = MPI_T_ENUM_NULL;
        CHECK(MPI_T_event_get_info(i, name, &length, NULL, types, displacements, &elements, &names, &extent, NULL,
                                   NULL, NULL) == MPI_SUCCESS);
        CHECK(MPI_T_event_get_index(name, &index) == MPI_SUCCESS && index == i);
        CHECK(elements >= 0 && elements <= 8);
        /* The MPI's own types have no enumeration, nor have types without elements. */
        const int ours = strncmp(name, "pml_ob1_", 8) == 0 || strncmp(name, "osc_rdma_", 9) == 0 ||
                         strcmp(name, "btl_netop") == 0;
        CHECK((names != MPI_T_ENUM_NULL) == (ours && elements > 0));
        if (elements == 0) {
            CHECK(extent == 0);
            continue;
        }
        const MPI_Datatype last = types[elements - 1];
        CHECK(last == MPI_INT || last == MPI_UNSIGNED || last == MPI_UNSIGNED_LONG_LONG);
        CHECK(extent == displacements[elements - 1] + (last == MPI_UNSIGNED_LONG_LONG ? 8 : 4));
    }
}

/* Rule 5, rule 10, rule 12, rule 23, rule 28, rule 35. */
static void bad_arguments_are_refused(void)
{
    int num = 0, sources = 0, index = 77, frees = 0;
    MPI_Comm world = MPI_COMM_WORLD, null = MPI_COMM_NULL;
    MPI_Count ticks = 77;
    MPI_T_event_registration handle = NULL;
    struct seen seen = {0};
    CHECK(MPI_T_event_get_num(NULL) == MPI_ERR_ARG && MPI_T_event_get_num(&num) == MPI_SUCCESS);
    CHECK(MPI_T_source_get_num(NULL) == MPI_ERR_ARG && MPI_T_source_get_num(&sources) == MPI_SUCCESS);
    CHECK(MPI_T_event_get_index("no such event", &index) == MPI_T_ERR_INVALID_NAME && index == 77);
    CHECK(MPI_T_event_get_index(NULL, &index) == MPI_ERR_ARG && index == 77);
    for (int i = -1; i <= num; i += num + 1) {
        CHECK(MPI_T_event_get_info(i, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) ==
              MPI_T_ERR_INVALID_INDEX);
        CHECK(MPI_T_event_handle_alloc(i, &world, NULL, count, &handle) == MPI_T_ERR_INVALID_INDEX);
    }
    for (int i = -1; i <= sources; i += sources + 1) {
        CHECK(MPI_T_source_get_info(i, NULL, NULL, NULL, NULL) == MPI_T_ERR_INVALID_INDEX);
        CHECK(MPI_T_source_get_timestamp(i, &ticks) == MPI_T_ERR_INVALID_INDEX && ticks == 77);
    }
    CHECK(MPI_T_event_handle_alloc(arrived(), &world, NULL, count, NULL) == MPI_ERR_ARG);
    CHECK(MPI_T_event_handle_alloc(arrived(), &world, NULL, NULL, &handle) == MPI_ERR_ARG);
    CHECK(MPI_T_event_handle_alloc(arrived(), NULL, NULL, count, &handle) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_event_handle_alloc(arrived(), &null, NULL, count, &handle) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(handle == NULL);
    CHECK(MPI_T_event_copy(NULL, &index, sizeof index) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_event_read(NULL, 0, &index, sizeof index) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_event_get_timestamp(NULL, &ticks) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_event_get_source(NULL, &index) == MPI_T_ERR_INVALID_HANDLE && index == 77);

    MPI_T_event_registration stale = listen(MPI_COMM_WORLD, &seen), unknown = (MPI_T_event_registration)(size_t)123457;
    CHECK(MPI_T_event_handle_free(stale, freed) == MPI_SUCCESS);
    frees = seen.frees;
    for (int i = 0; i < 3; i++) {
        handle = i == 0 ? stale : i == 1 ? unknown : NULL;
        CHECK(MPI_T_event_handle_free(handle, freed) == MPI_T_ERR_INVALID_HANDLE);
        CHECK(MPI_T_event_set_dropped_handler(handle, dropped) == MPI_T_ERR_INVALID_HANDLE);
    }
    CHECK(seen.frees == frees && frees == 1);
}

/* Rule 6, rule 7. */
static void strings_and_arrays_are_cut(void)
{
    const int whole = (int)strlen(ARRIVED) + 1;
    char name[64];
    int room = 0, elements = 2;
    MPI_Datatype types[3] = {MPI_DATATYPE_NULL, MPI_DATATYPE_NULL, MPI_DATATYPE_NULL};
    MPI_Aint displacements[3] = {-7, -7, -7};
    memset(name, '#', sizeof name);
    CHECK(MPI_T_event_get_info(arrived(), name, &room, NULL, types, displacements, &elements, NULL, NULL, NULL, NULL,
                               NULL) == MPI_SUCCESS);
    CHECK(room == whole && name[0] == '#' && elements == 4);
    CHECK(types[1] == MPI_INT && displacements[1] == 4);
    CHECK(types[2] == MPI_DATATYPE_NULL && displacements[2] == -7);
    room = 4;
    CHECK(MPI_T_event_get_info(arrived(), name, &room, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) ==
          MPI_SUCCESS);
    CHECK(room == 4 && strcmp(name, "pml") == 0 && name[4] == '#');
}

/* Rule 17, rule 18, rule 19. */
static void one_callback_serves_every_level(void)
{
    struct seen seen = {0};
    MPI_T_event_registration handle = listen(MPI_COMM_WORLD, &seen);
    message(MPI_COMM_WORLD);
    CHECK(seen.events == 1 && seen.registration == handle && seen.safety == MPI_T_CB_REQUIRE_MPI_RESTRICTED);
    CHECK(MPI_T_event_handle_free(handle, NULL) == MPI_SUCCESS);
    message(MPI_COMM_WORLD);
    CHECK(seen.events == 1);
}

/* Rule 13, rule 15. */
static void a_registration_hears_its_object_only(void)
{
    MPI_Comm other;
    struct seen on_world = {0}, on_other = {0}, again = {0};
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MPI_T_event_registration world = listen(MPI_COMM_WORLD, &on_world), bound = listen(other, &on_other),
                             second = listen(other, &again);
    CHECK(MPI_T_event_set_dropped_handler(bound, dropped) == MPI_SUCCESS);
    message(MPI_COMM_WORLD);
    message(other);
    message(other);
    CHECK(on_world.events == 1 && on_other.events == 2 && again.events == 2);
    MPI_Comm_free(&other);
    CHECK(MPI_T_event_handle_free(world, NULL) == MPI_SUCCESS && MPI_T_event_handle_free(bound, NULL) == MPI_SUCCESS &&
          MPI_T_event_handle_free(second, NULL) == MPI_SUCCESS);
    CHECK(on_other.reports == 0);
}

/* Rule 24 and rule 25, with sizes. */
static void read_all(MPI_T_event_instance event, MPI_T_event_registration handle, MPI_T_event_cb_safety safety,
                     void *user_data)
{
    static const int too_small[] = {-1, INT_MIN, 0, 1, 3};
    unsigned char whole[20];
    int tag[2] = {-7, -7}, source = -1, rank = -1;
    MPI_Count stamp = -1, now = -1;
    (void)handle, (void)safety;
    ++*(int *)user_data;
    MPI_T_event_read(event, 1, &rank, sizeof rank);
    CHECK(rank >= 0);
    CHECK(MPI_T_event_read(event, 2, tag, sizeof tag) == MPI_SUCCESS && tag[0] == 5 && tag[1] == -7);
    tag[0] = -7;
    CHECK(MPI_T_event_read(event, 4, tag, sizeof tag) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_event_read(event, -1, tag, sizeof tag) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_event_read(event, 0, NULL, sizeof tag) == MPI_ERR_ARG);
    CHECK(MPI_T_event_copy(event, NULL, sizeof whole) == MPI_ERR_ARG);
    memset(whole, 0xa5, sizeof whole);
    for (size_t i = 0; i < sizeof too_small / sizeof *too_small; i++) {
        CHECK(MPI_T_event_read(event, 2, tag, too_small[i]) == MPI_ERR_ARG && tag[0] == -7);
        CHECK(MPI_T_event_copy(event, whole, too_small[i]) == MPI_ERR_ARG);
    }
    CHECK(MPI_T_event_copy(event, whole, 15) == MPI_ERR_ARG);
    for (size_t i = 0; i < sizeof whole; i++)
        CHECK(whole[i] == 0xa5);
    CHECK(MPI_T_event_copy(event, whole, sizeof whole) == MPI_SUCCESS);
    CHECK(memcmp(whole + 4, &rank, 4) == 0 && whole[16] == 0xa5 && whole[19] == 0xa5);
    CHECK(MPI_T_event_copy(event, whole, 16) == MPI_SUCCESS);
    CHECK(MPI_T_event_get_timestamp(event, NULL) == MPI_ERR_ARG && MPI_T_event_get_source(event, NULL) == MPI_ERR_ARG);
    CHECK(MPI_T_event_get_source(event, &source) == MPI_SUCCESS && source >= 0);
    CHECK(MPI_T_event_get_timestamp(event, &stamp) == MPI_SUCCESS && stamp > 0);
    CHECK(MPI_T_source_get_timestamp(source, &now) == MPI_SUCCESS && now >= stamp);
}

static void small_buffers_are_refused_and_left_alone(void)
{
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_T_event_registration handle = NULL;
    int events = 0;
    CHECK(MPI_T_event_handle_alloc(arrived(), &world, &events, read_all, &handle) == MPI_SUCCESS);
    message(MPI_COMM_WORLD);
    CHECK(events == 1);
    CHECK(MPI_T_event_handle_free(handle, NULL) == MPI_SUCCESS);
}

/* Rule 28, rule 29. */
static void sources_describe_their_clock(void)
{
    int num = 0;
    CHECK(MPI_T_source_get_num(&num) == MPI_SUCCESS && num > 0);
    for (int i = 0; i < num; i++) {
        char description[128];
        int length = sizeof description;
        MPI_T_source_order order = (MPI_T_source_order)-1;
        MPI_Count rate = 0, now = 0;
        CHECK(MPI_T_source_get_info(i, description, &length, &order, &rate) == MPI_SUCCESS);
        CHECK(length == (int)strlen(description) + 1 && length > 1 && rate >= 1000000);
        CHECK(order == MPI_T_SOURCE_ORDERED || order == MPI_T_SOURCE_UNORDERED);
        CHECK(MPI_T_source_get_timestamp(i, &now) == MPI_SUCCESS && now > 0);
        /* The MPI's own source may count from 1970. */
        CHECK(now / rate < 3600 || strcmp(description, "active message receive queue") == 0);
        CHECK(MPI_T_source_get_info(i, NULL, NULL, NULL, NULL) == MPI_SUCCESS);
        CHECK(MPI_T_source_get_timestamp(i, NULL) == MPI_ERR_ARG);
    }
}

static void count_too(MPI_T_event_instance event, MPI_T_event_registration handle, MPI_T_event_cb_safety safety,
                      void *user_data)
{
    count(event, handle, safety, user_data);
}

/* Rule 30, rule 31, rule 32, rule 33. One callback serves every level, so only a standard function can
 * make events drop. */
static void drops_are_told_with_the_user_data(void)
{
    struct seen seen = {0};
    MPI_T_event_registration handle = listen(MPI_COMM_WORLD, &seen);
    CHECK(MPI_T_event_set_dropped_handler(handle, dropped) == MPI_SUCCESS);
    CHECK(PMPI_T_event_register_callback(handle, MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE, MPI_INFO_NULL, NULL, NULL) ==
          MPI_SUCCESS);
    for (int i = 0; i < 3; i++)
        message(MPI_COMM_WORLD);
    CHECK(seen.reports == 0 && seen.events == 0);
    CHECK(PMPI_T_event_register_callback(handle, MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE, MPI_INFO_NULL, &seen, count_too) ==
          MPI_SUCCESS);
    message(MPI_COMM_WORLD);
    message(MPI_COMM_WORLD);
    CHECK(seen.reports == 1 && seen.lost == 3 && seen.events == 2 && seen.registration == handle);

    CHECK(PMPI_T_event_register_callback(handle, MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE, MPI_INFO_NULL, NULL, NULL) ==
          MPI_SUCCESS);
    message(MPI_COMM_WORLD);
    /* A new handler starts from zero, and what is left is told at the end. */
    CHECK(MPI_T_event_set_dropped_handler(handle, NULL) == MPI_SUCCESS);
    CHECK(MPI_T_event_set_dropped_handler(handle, dropped) == MPI_SUCCESS);
    message(MPI_COMM_WORLD);
    message(MPI_COMM_WORLD);
    CHECK(seen.reports == 1);
    CHECK(MPI_T_event_handle_free(handle, freed) == MPI_SUCCESS);
    CHECK(seen.reports == 2 && seen.lost == 5 && seen.frees == 1);
}

static void end_itself(MPI_T_event_instance event, MPI_T_event_registration handle, MPI_T_event_cb_safety safety,
                       void *user_data)
{
    struct seen *seen = user_data;
    count(event, handle, safety, user_data);
    CHECK(MPI_T_event_handle_free(handle, freed) == MPI_SUCCESS && seen->frees == 0);
    CHECK(MPI_T_event_handle_free(handle, freed) == MPI_T_ERR_INVALID_HANDLE);
}

/* Rule 34. */
static void user_data_reaches_the_free_callback_once(void)
{
    struct seen seen = {0};
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_T_event_registration handle = NULL;
    CHECK(MPI_T_event_handle_alloc(arrived(), &world, &seen, end_itself, &handle) == MPI_SUCCESS);
    message(MPI_COMM_WORLD);
    message(MPI_COMM_WORLD);
    CHECK(seen.events == 1 && seen.frees == 1 && seen.registration == handle);
}

static void freed_by_the_standard(MPI_T_event_registration handle, MPI_T_cb_safety safety, void *user_data)
{
    (void)handle, (void)safety;
    ++*(int *)user_data;
}

static int frees_without_data;

static void freed_without_data(MPI_T_event_registration handle, MPI_T_cb_safety safety, void *user_data)
{
    (void)handle, (void)safety;
    CHECK(user_data == NULL);
    frees_without_data++;
}

static void handles_are_good_in_both_dialects(void)
{
    struct seen seen = {0};
    int frees = 0;
    MPI_T_event_registration handle = listen(MPI_COMM_WORLD, &seen);
    CHECK(PMPI_T_event_handle_free(handle, &frees, freed_by_the_standard) == MPI_SUCCESS && frees == 1);
    end(listen(MPI_COMM_WORLD, &seen));
    handle = registration(MPI_COMM_WORLD);
    CHECK(PMPI_T_event_register_callback(handle, MPI_T_CB_REQUIRE_THREAD_SAFE, MPI_INFO_NULL, &seen, count) ==
          MPI_SUCCESS);
    message(MPI_COMM_WORLD);
    CHECK(seen.events == 1);
    CHECK(MPI_T_event_handle_free(handle, freed_without_data) == MPI_SUCCESS && frees_without_data == 1);
}

/* Allocated before MPI_Init, freed after MPI_Finalize. */
static MPI_T_event_registration early;
static struct seen early_seen;

/* Rule 3. */
static void handles_made_before_mpi_init_deliver(void)
{
    CHECK(early_seen.events > 0 && early_seen.registration == early);
    CHECK(MPI_T_event_handle_free(early, freed) == MPI_SUCCESS && early_seen.frees == 1);
}

static void at_any_time(void)
{
    RULE(types_tell_their_extent);
    RULE(bad_arguments_are_refused);
    RULE(strings_and_arrays_are_cut);
}

int main(int argc, char **argv)
{
    int provided;
    RULE(nothing_works_without_initialisation);
    CHECK(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided) == MPI_SUCCESS);
    early = listen(MPI_COMM_WORLD, &early_seen);
    at_any_time();
    MPI_Init(&argc, &argv);
    at_any_time();
    RULE(one_callback_serves_every_level);
    RULE(a_registration_hears_its_object_only);
    RULE(small_buffers_are_refused_and_left_alone);
    RULE(sources_describe_their_clock);
    RULE(drops_are_told_with_the_user_data);
    RULE(user_data_reaches_the_free_callback_once);
    RULE(handles_are_good_in_both_dialects);
    MPI_Finalize();
    at_any_time();
    RULE(handles_made_before_mpi_init_deliver);
    CHECK(MPI_T_finalize() == MPI_SUCCESS);
    RULE(nothing_works_without_initialisation);
    return failures != 0;
}
