/* The MPI's own events beside ours, on an MPICH that has some: two processes, of which the first receives. With
 * EARLY=1 in the environment the interface is initialised before MPI_Init, where this MPI makes its events. */
#include "counting.h"

enum { ENQUEUED, DEQUEUED, NATIVE };
static const char *const names[NATIVE] = {"unexp_message_enqueued", "unexp_message_dequeued"};
static int early, rank, native[NATIVE], ours;

static void event_name(int index, char name[64])
{
    int length = 64;
    CHECK(MPI_T_event_get_info(index, name, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) ==
          MPI_SUCCESS);
}

/* Rule 4. The MPI's come first if they are there first; a number that was told never changes. */
static void numbers_are_dense_and_stay(void)
{
    int num = 0, ours_before = ours;
    ours = arrived();
    CHECK(MPI_T_event_get_num(&num) == MPI_SUCCESS && num == 32);
    for (int i = 0; i < NATIVE; i++) {
        char name[64];
        CHECK(MPI_T_event_get_index(names[i], &native[i]) == MPI_SUCCESS);
        CHECK(native[i] == (early ? 30 + i : i));
        event_name(native[i], name);
        CHECK(strcmp(name, names[i]) == 0);
    }
    CHECK(ours == (early ? ours_before : NATIVE));
    for (int i = 0; i < num; i++) {
        char name[64], other[64];
        event_name(i, name);
        for (int j = 0; j < i; j++) {
            event_name(j, other);
            CHECK(strcmp(name, other) != 0);
        }
    }
}

/* Rules 6, 8, 9. */
static void the_mpis_types_are_described(void)
{
    char desc[64];
    MPI_Datatype types[3];
    MPI_Aint displacements[3] = {-1, -1, -1};
    MPI_T_enum items = (MPI_T_enum)-1;
    MPI_Info info;
    int length = sizeof desc, verbosity = -1, elements = 3, bind = -1, keys = -1;
    CHECK(MPI_T_event_get_info(native[ENQUEUED], NULL, NULL, &verbosity, types, displacements, &elements, &items,
                               &info, desc, &length, &bind) == MPI_SUCCESS);
    CHECK(elements == 2 && types[0] == MPI_INT && types[1] == MPI_INT);
    CHECK(displacements[0] == 0 && displacements[1] == 4 && displacements[2] == -1);
    CHECK(verbosity == MPI_T_VERBOSITY_USER_BASIC && bind == MPI_T_BIND_NO_OBJECT && items == MPI_T_ENUM_NULL);
    CHECK(strcmp(desc, "message added to unexpected queue") == 0);
    CHECK(info != MPI_INFO_NULL && MPI_Info_get_nkeys(info, &keys) == MPI_SUCCESS && keys == 0);
    MPI_Info_free(&info);
    elements = 1;
    displacements[1] = -1;
    length = 8;
    CHECK(MPI_T_event_get_info(native[ENQUEUED], NULL, NULL, NULL, NULL, displacements, &elements, NULL, NULL, desc,
                               &length, NULL) == MPI_SUCCESS);
    CHECK(elements == 2 && displacements[1] == -1 && length == 8 && strcmp(desc, "message") == 0);
}

/* Rules 5, 28. */
static void the_mpis_sources_are_described(void)
{
    char name[64];
    int num = 0, length, of_mpi = -1;
    CHECK(MPI_T_source_get_num(&num) == MPI_SUCCESS && num >= 1);
    for (int i = 0; i < num; i++) {
        length = sizeof name;
        CHECK(MPI_T_source_get_info(i, name, &length, NULL, NULL, NULL, NULL, NULL, NULL) == MPI_SUCCESS);
        if (strcmp(name, "RECVQ") == 0) {
            CHECK(of_mpi == -1);
            of_mpi = i;
        }
    }
    MPI_T_source_order order = MPI_T_SOURCE_UNORDERED;
    MPI_Count rate = 0, before = 0, after = 0;
    CHECK(of_mpi >= 0);
    CHECK(MPI_T_source_get_info(of_mpi, NULL, NULL, NULL, NULL, &order, &rate, NULL, NULL) == MPI_SUCCESS);
    CHECK(order == MPI_T_SOURCE_ORDERED && rate > 0);
    CHECK(MPI_T_source_get_timestamp(of_mpi, &before) == MPI_SUCCESS);
    CHECK(MPI_T_source_get_timestamp(of_mpi, &after) == MPI_SUCCESS && before > 0 && after >= before);
    CHECK(MPI_T_source_get_timestamp(of_mpi, NULL) == MPI_ERR_ARG);
}

/* What the callback of an event of the MPI's has seen. Barriers send messages too. */
static struct {
    int events, from_peer, from_mpi;
    MPI_Count stamp;
} seen_of_mpi;

static void on_dequeued(MPI_T_event_instance event, MPI_T_event_registration handle, MPI_T_cb_safety safety,
                        void *user_data)
{
    int both[3] = {-7, -7, -7}, source = -7;
    (void)handle;
    CHECK(safety == MPI_T_CB_REQUIRE_MPI_RESTRICTED && user_data == &seen_of_mpi);
    seen_of_mpi.events++;
    /* MPICH 4.0 has no data for this event, and would crash. */
    const int code = MPI_T_event_read(event, 0, &source);
    CHECK(code == MPI_SUCCESS || (code == MPI_T_ERR_NOT_SUPPORTED && source == -7));
    CHECK(MPI_T_event_copy(event, both) == code && both[2] == -7);
}

static void on_enqueued(MPI_T_event_instance event, MPI_T_event_registration handle, MPI_T_cb_safety safety,
                      void *user_data)
{
    int source = -1, number = 7, peer = -1, second = -1, both[3] = {-1, -1, 99};
    char name[64];
    (void)handle;
    CHECK(safety == MPI_T_CB_REQUIRE_MPI_RESTRICTED && user_data == &seen_of_mpi);
    CHECK(MPI_T_event_read(event, 0, &peer) == MPI_SUCCESS);
    CHECK(MPI_T_event_read(event, 1, &second) == MPI_SUCCESS);
    CHECK(MPI_T_event_read(event, 2, &number) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_event_read(event, -1, &number) == MPI_T_ERR_INVALID_INDEX && number == 7);
    CHECK(MPI_T_event_read(event, 0, NULL) == MPI_ERR_ARG && MPI_T_event_copy(event, NULL) == MPI_ERR_ARG);
    CHECK(MPI_T_event_copy(event, both) == MPI_SUCCESS);
    CHECK(both[0] == peer && both[1] == second && both[2] == 99);
    CHECK(MPI_T_event_get_timestamp(event, NULL) == MPI_ERR_ARG);
    CHECK(MPI_T_event_get_source(event, NULL) == MPI_ERR_ARG);
    CHECK(MPI_T_event_get_timestamp(event, &seen_of_mpi.stamp) == MPI_SUCCESS);
    CHECK(MPI_T_event_get_source(event, &source) == MPI_SUCCESS);
    int length = sizeof name;
    CHECK(MPI_T_source_get_info(source, name, &length, NULL, NULL, NULL, NULL, NULL, NULL) == MPI_SUCCESS);
    seen_of_mpi.from_mpi = strcmp(name, "RECVQ") == 0;
    seen_of_mpi.events++;
    /* The first element is the sender; MPICH 4.0 has no more than an identity of the communicator in the second. */
    seen_of_mpi.from_peer += peer == 1;
}

/* Two messages, the second of which is received first: the first one is unexpected. */
static void unexpected_message(int tag)
{
    int value = tag;
    /* Nothing arrives before the other one listens. */
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        MPI_Send(&value, 1, MPI_INT, 0, tag, MPI_COMM_WORLD);
        MPI_Send(&value, 1, MPI_INT, 0, tag + 1, MPI_COMM_WORLD);
    } else {
        MPI_Recv(&value, 1, MPI_INT, 1, tag + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(&value, 1, MPI_INT, 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static MPI_T_event_registration native_registration(int which)
{
    MPI_T_event_registration made = NULL;
    CHECK(MPI_T_event_handle_alloc(native[which], NULL, MPI_INFO_NULL, NULL) == MPI_ERR_ARG);
    CHECK(MPI_T_event_handle_alloc(native[which], NULL, MPI_INFO_NULL, &made) == MPI_SUCCESS && made != NULL);
    return made;
}

static void hear(MPI_T_event_registration handle, MPI_T_cb_safety level, MPI_T_event_cb_function *callback)
{
    CHECK(MPI_T_event_register_callback(handle, level, MPI_INFO_NULL, &seen_of_mpi, callback) == MPI_SUCCESS);
}

static int frees;

static void freed(MPI_T_event_registration handle, MPI_T_cb_safety safety, void *user_data)
{
    (void)handle;
    CHECK(safety == MPI_T_CB_REQUIRE_NONE && user_data == &frees);
    frees++;
}

/* Rules 16, 18, 24, 25, 27. */
static void the_mpis_events_are_delivered(void)
{
    struct seen of_ours = {0};
    MPI_T_event_registration handle = native_registration(ENQUEUED), twin = registration(MPI_COMM_WORLD);
    listen(twin, MPI_T_CB_REQUIRE_THREAD_SAFE, &of_ours);
    hear(handle, MPI_T_CB_REQUIRE_THREAD_SAFE, on_enqueued);
    unexpected_message(11);
    if (rank == 0) {
        CHECK(seen_of_mpi.from_peer >= 1 && seen_of_mpi.from_peer == seen_of_mpi.events);
        CHECK(seen_of_mpi.from_mpi && seen_of_mpi.stamp > 0);
        CHECK(of_ours.events == 2 && of_ours.registration == twin);
    }
    CHECK(MPI_T_event_handle_free(handle, &frees, freed) == MPI_SUCCESS && frees == 1);
    end(twin);
    const int before = seen_of_mpi.events;
    unexpected_message(21);
    CHECK(seen_of_mpi.events == before);
    handle = native_registration(DEQUEUED);
    hear(handle, MPI_T_CB_REQUIRE_THREAD_SAFE, on_dequeued);
    unexpected_message(25);
    if (rank == 0)
        CHECK(seen_of_mpi.events > before);
    end(handle);
}

/* Rules 16, 35, 36: an MPI would follow whatever it is given. */
static void the_mpis_handles_are_checked(void)
{
    MPI_Info info = MPI_INFO_NULL;
    MPI_T_event_registration stale = native_registration(ENQUEUED);
    CHECK(MPI_T_event_register_callback(stale, (MPI_T_cb_safety)77, MPI_INFO_NULL, &seen_of_mpi, on_enqueued) ==
          MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_event_handle_set_info(stale, MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_T_event_handle_get_info(stale, NULL) == MPI_ERR_ARG);
    CHECK(MPI_T_event_handle_get_info(stale, &info) == MPI_SUCCESS && info != MPI_INFO_NULL);
    MPI_Info_free(&info);
    CHECK(MPI_T_event_handle_free(stale, NULL, NULL) == MPI_SUCCESS);
    CHECK(MPI_T_event_handle_free(stale, NULL, NULL) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_event_handle_set_info(stale, MPI_INFO_NULL) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_event_handle_get_info(stale, &info) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_event_set_dropped_handler(stale, NULL) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_event_register_callback(stale, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, NULL, NULL) ==
          MPI_T_ERR_INVALID_HANDLE);
}

static MPI_Count lost;
static int lost_source = -1;

static void dropped(MPI_Count count_of, MPI_T_event_registration handle, int source, MPI_T_cb_safety safety,
                    void *user_data)
{
    (void)handle, (void)safety, (void)user_data;
    lost += count_of;
    lost_source = source;
}

/* Rules 30, 31: what the MPI has dropped, told with the number of the source that tools know. */
static void the_mpis_drops_are_told(void)
{
    MPI_T_event_registration handle = native_registration(DEQUEUED);
    CHECK(MPI_T_event_set_dropped_handler(handle, dropped) == MPI_SUCCESS);
    hear(handle, MPI_T_CB_REQUIRE_NONE, on_dequeued);
    seen_of_mpi.events = 0;
    unexpected_message(31);
    CHECK(seen_of_mpi.events == 0 && lost == 0);
    hear(handle, MPI_T_CB_REQUIRE_THREAD_SAFE, on_dequeued);
    unexpected_message(41);
    if (rank == 0) {
        char name[64];
        int length = sizeof name;
        CHECK(seen_of_mpi.events >= 1 && lost >= 1);
        CHECK(MPI_T_source_get_info(lost_source, name, &length, NULL, NULL, NULL, NULL, NULL, NULL) == MPI_SUCCESS);
        CHECK(strcmp(name, "RECVQ") == 0);
    }
    /* Without a handler nothing is told, and nothing breaks: this MPI calls handlers that were removed. */
    hear(handle, MPI_T_CB_REQUIRE_THREAD_SAFE, NULL);
    unexpected_message(51);
    const MPI_Count before = lost;
    CHECK(MPI_T_event_set_dropped_handler(handle, NULL) == MPI_SUCCESS);
    hear(handle, MPI_T_CB_REQUIRE_THREAD_SAFE, on_dequeued);
    unexpected_message(61);
    CHECK(lost == before);
    end(handle);
}

/* Rule 37. */
static void categories_have_the_mpis_events_and_ours(void)
{
    int num = 0, of_mpi = 0, of_ours = 0;
    CHECK(MPI_T_category_get_num(&num) == MPI_SUCCESS);
    for (int i = 0; i < num; i++) {
        int events = -1, indices[32];
        CHECK(MPI_T_category_get_num_events(i, &events) == MPI_SUCCESS && events >= 0 && events <= 32);
        CHECK(MPI_T_category_get_events(i, 32, indices) == MPI_SUCCESS);
        for (int j = 0; j < events; j++) {
            of_mpi += indices[j] == native[ENQUEUED] || indices[j] == native[DEQUEUED];
            of_ours += indices[j] >= ours && indices[j] < ours + 30;
        }
    }
    CHECK(of_mpi == 2 && of_ours == 30);
}

/* Left to the last MPI_T_finalize; after that it must be silent. */
static void registrations_of_the_mpi_end_with_the_last_finalisation(void)
{
    int provided;
    MPI_T_event_registration left = native_registration(DEQUEUED);
    hear(left, MPI_T_CB_REQUIRE_THREAD_SAFE, on_dequeued);
    seen_of_mpi.events = 0;
    CHECK(MPI_T_finalize() == MPI_SUCCESS);
    unexpected_message(71);
    CHECK(seen_of_mpi.events == 0);
    /* Initialised again, everything is as before: variables too, which this MPI forgets when it is told. */
    int num = 0, variables = 0;
    CHECK(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided) == MPI_SUCCESS);
    CHECK(MPI_T_event_handle_set_info(left, MPI_INFO_NULL) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_event_get_num(&num) == MPI_SUCCESS && num == 32);
    CHECK(MPI_T_cvar_get_num(&variables) == MPI_SUCCESS && variables > 0);
    end(native_registration(ENQUEUED));
}

int main(int argc, char **argv)
{
    int provided;
    early = getenv("EARLY") != NULL;
    if (early) {
        CHECK(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided) == MPI_SUCCESS);
        ours = arrived();
        CHECK(ours == 0);
    }
    MPI_Init(&argc, &argv);
    if (!early)
        CHECK(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided) == MPI_SUCCESS);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    RULE(numbers_are_dense_and_stay);
    RULE(the_mpis_types_are_described);
    RULE(the_mpis_sources_are_described);
    RULE(the_mpis_events_are_delivered);
    RULE(the_mpis_handles_are_checked);
    RULE(the_mpis_drops_are_told);
    RULE(categories_have_the_mpis_events_and_ours);
    frees = 0;
    RULE(registrations_of_the_mpi_end_with_the_last_finalisation);
    MPI_Finalize();
    CHECK(MPI_T_finalize() == MPI_SUCCESS);
    return failures != 0;
}
