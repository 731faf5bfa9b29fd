/* The rules on queries and handles, which hold before MPI_Init and after MPI_Finalize too. */
#include "counting.h"

static void nothing_works_without_initialisation(void)
{
    int number = 0;
    MPI_Count ticks = 0;
    MPI_T_event_registration handle = NULL;
    MPI_Info info;
    const int refused = MPI_T_ERR_NOT_INITIALIZED;
    CHECK(MPI_T_event_get_num(&number) == refused);
    CHECK(MPI_T_event_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) == refused);
    CHECK(MPI_T_event_get_index(ARRIVED, &number) == refused);
    CHECK(MPI_T_event_handle_alloc(0, NULL, MPI_INFO_NULL, &handle) == refused);
    CHECK(MPI_T_event_handle_set_info(handle, MPI_INFO_NULL) == refused);
    CHECK(MPI_T_event_handle_get_info(handle, &info) == refused);
    CHECK(MPI_T_event_register_callback(handle, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, NULL, NULL) == refused);
    CHECK(MPI_T_event_callback_set_info(handle, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL) == refused);
    CHECK(MPI_T_event_callback_get_info(handle, MPI_T_CB_REQUIRE_NONE, &info) == refused);
    CHECK(MPI_T_event_handle_free(handle, NULL, NULL) == refused);
    CHECK(MPI_T_event_set_dropped_handler(handle, NULL) == refused);
    CHECK(MPI_T_event_read(NULL, 0, &number) == refused);
    CHECK(MPI_T_event_copy(NULL, &number) == refused);
    CHECK(MPI_T_event_get_timestamp(NULL, &ticks) == refused);
    CHECK(MPI_T_event_get_source(NULL, &number) == refused);
    CHECK(MPI_T_source_get_num(&number) == refused);
    CHECK(MPI_T_source_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) == refused);
    CHECK(MPI_T_source_get_timestamp(0, &ticks) == refused);
    CHECK(MPI_T_category_get_num_events(0, &number) == refused);
    CHECK(MPI_T_category_get_events(0, 0, &number) == refused);
    CHECK(PMPI_T_event_get_num(&number) == refused);
    CHECK(MPI_T_finalize() != MPI_SUCCESS);
}

static void indices_are_dense_and_names_unique(void)
{
    int num = 0;
    CHECK(MPI_T_event_get_num(&num) == MPI_SUCCESS);
    for (int i = 0; i < num; i++) {
        char name[64];
        int length = sizeof name, index = -1;
        CHECK(MPI_T_event_get_info(i, name, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) ==
              MPI_SUCCESS);
        CHECK(MPI_T_event_get_index(name, &index) == MPI_SUCCESS && index == i);
    }
}

static void bad_indices_and_names_are_refused(void)
{
    int num = 0, index = 77;
    CHECK(MPI_T_event_get_num(&num) == MPI_SUCCESS);
    for (int i = -1; i <= num; i += num + 1)
        CHECK(MPI_T_event_get_info(i, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) ==
              MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_event_get_index("no such event", &index) == MPI_T_ERR_INVALID_NAME && index == 77);
    CHECK(MPI_T_event_get_index("", &index) == MPI_T_ERR_INVALID_NAME);
    CHECK(MPI_T_event_get_index("\xff\xfe", &index) == MPI_T_ERR_INVALID_NAME);
    CHECK(MPI_T_event_get_index(NULL, &index) == MPI_ERR_ARG);
    CHECK(MPI_T_event_get_index(ARRIVED, NULL) == MPI_ERR_ARG);
    CHECK(MPI_T_event_get_num(NULL) == MPI_ERR_ARG);
}

static void outputs_may_be_null_and_arrays_are_cut(void)
{
    MPI_Datatype types[6];
    MPI_Aint displacements[6];
    int verbosity = -1, bind = -1, elements = 6;
    CHECK(MPI_T_event_get_info(arrived(), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) ==
          MPI_SUCCESS);
    memset(displacements, 0x55, sizeof displacements);
    memset(types, 0x55, sizeof types);
    const MPI_Aint untouched = displacements[0];
    const MPI_Datatype untouched_type = types[0];
    CHECK(MPI_T_event_get_info(arrived(), NULL, NULL, &verbosity, types, displacements, &elements, NULL, NULL,
                               NULL, NULL, &bind) == MPI_SUCCESS);
    CHECK(elements == 4 && verbosity == MPI_T_VERBOSITY_TUNER_DETAIL && bind == MPI_T_BIND_MPI_COMM);
    CHECK(types[0] == MPI_UNSIGNED && types[1] == MPI_INT && types[2] == MPI_INT && types[3] == MPI_UNSIGNED);
    CHECK(displacements[0] == 0 && displacements[1] == 4 && displacements[2] == 8 && displacements[3] == 12);
    CHECK(types[4] == untouched_type && displacements[4] == untouched);

    /* Room for two: two are given, and the true number. */
    memset(displacements, 0x55, sizeof displacements);
    memset(types, 0x55, sizeof types);
    elements = 2;
    CHECK(MPI_T_event_get_info(arrived(), NULL, NULL, NULL, types, displacements, &elements, NULL, NULL, NULL,
                               NULL, NULL) == MPI_SUCCESS);
    CHECK(elements == 4 && types[1] == MPI_INT && displacements[1] == 4);
    CHECK(types[2] == untouched_type && displacements[2] == untouched);

    /* Without a size the arrays are not looked at. */
    CHECK(MPI_T_event_get_info(arrived(), NULL, NULL, NULL, types + 3, displacements + 3, NULL, NULL, NULL,
                               NULL, NULL, NULL) == MPI_SUCCESS);
    CHECK(types[3] == untouched_type && displacements[3] == untouched);
}

static int name_with_room(char *name, int room)
{
    CHECK(MPI_T_event_get_info(arrived(), name, &room, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) ==
          MPI_SUCCESS);
    return room;
}

static void strings_are_cut_to_their_room(void)
{
    const int whole = (int)strlen(ARRIVED) + 1;
    char name[64] = "unchanged";
    CHECK(name_with_room(NULL, 5) == whole);
    CHECK(name_with_room(name, 0) == whole && strcmp(name, "unchanged") == 0);
    CHECK(name_with_room(name, sizeof name) == whole && strcmp(name, ARRIVED) == 0);
    memset(name, '#', sizeof name);
    CHECK(name_with_room(name, 4) == 4 && strcmp(name, "pml") == 0 && name[4] == '#');
}

static void elements_have_names(void)
{
    static const char *const expected[] = {"context id", "source", "tag", "sequence number"};
    MPI_T_enum names = MPI_T_ENUM_NULL, other = MPI_T_ENUM_NULL;
    char text[64];
    int num = 0, length = sizeof text, value = -1;
    CHECK(MPI_T_event_get_info(arrived(), NULL, NULL, NULL, NULL, NULL, NULL, &names, NULL, NULL, NULL, NULL) ==
          MPI_SUCCESS);
    CHECK(names != MPI_T_ENUM_NULL);
    CHECK(MPI_T_enum_get_info(names, &num, text, &length) == MPI_SUCCESS);
    CHECK(num == 4 && strcmp(text, ARRIVED) == 0);
    for (int i = 0; i < 4; i++) {
        length = sizeof text;
        CHECK(MPI_T_enum_get_item(names, i, &value, text, &length) == MPI_SUCCESS);
        CHECK(value == i && strcmp(text, expected[i]) == 0);
    }
    CHECK(MPI_T_enum_get_item(names, 4, &value, text, &length) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_enum_get_item(names, -1, &value, text, &length) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_event_get_info(arrived() + 1, NULL, NULL, NULL, NULL, NULL, NULL, &other, NULL, NULL, NULL, NULL) ==
          MPI_SUCCESS);
    CHECK(other != names);

    /* Enumerations of MPI's own variables are still MPI's. */
    int cvars = 0;
    CHECK(MPI_T_cvar_get_num(&cvars) == MPI_SUCCESS);
    for (int i = 0; i < cvars; i++) {
        MPI_T_enum own = MPI_T_ENUM_NULL;
        MPI_Datatype type;
        int verbosity, bind, scope, name_len = 0, desc_len = 0;
        if (MPI_T_cvar_get_info(i, NULL, &name_len, &verbosity, &type, &own, NULL, &desc_len, &bind, &scope) ==
                MPI_SUCCESS &&
            own != MPI_T_ENUM_NULL) {
            num = 0;
            length = sizeof text;
            CHECK(MPI_T_enum_get_info(own, &num, text, &length) == MPI_SUCCESS && num > 0);
            break;
        }
    }
}

static void allocation_checks_its_arguments(void)
{
    int num = 0;
    MPI_Comm world = MPI_COMM_WORLD, null = MPI_COMM_NULL;
    MPI_T_event_registration handle = NULL;
    CHECK(MPI_T_event_get_num(&num) == MPI_SUCCESS);
    CHECK(MPI_T_event_handle_alloc(-1, &world, MPI_INFO_NULL, &handle) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_event_handle_alloc(num, &world, MPI_INFO_NULL, &handle) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_event_handle_alloc(arrived(), &world, MPI_INFO_NULL, NULL) == MPI_ERR_ARG);
    CHECK(MPI_T_event_handle_alloc(arrived(), NULL, MPI_INFO_NULL, &handle) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_event_handle_alloc(arrived(), &null, MPI_INFO_NULL, &handle) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(handle == NULL);
}

static void callbacks_need_a_valid_level_and_handle(void)
{
    struct seen seen = {0};
    MPI_T_event_registration handle = registration(MPI_COMM_WORLD);
    CHECK(MPI_T_event_register_callback(handle, (MPI_T_cb_safety)77, MPI_INFO_NULL, &seen, count) ==
          MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_event_callback_set_info(handle, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL) ==
          MPI_T_ERR_INVALID_HANDLE);
    listen(handle, MPI_T_CB_REQUIRE_NONE, &seen);
    CHECK(MPI_T_event_callback_set_info(handle, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_T_event_callback_set_info(handle, MPI_T_CB_REQUIRE_THREAD_SAFE, MPI_INFO_NULL) ==
          MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_event_callback_get_info(handle, MPI_T_CB_REQUIRE_NONE, NULL) == MPI_ERR_ARG);
    CHECK(MPI_T_event_handle_get_info(handle, NULL) == MPI_ERR_ARG);
    listen(handle, MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE, &seen);
    CHECK(MPI_T_event_register_callback(handle, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, NULL, NULL) == MPI_SUCCESS);
    CHECK(MPI_T_event_callback_set_info(handle, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL) ==
          MPI_T_ERR_INVALID_HANDLE);
    end(handle);
}

static int frees;

static void freed(MPI_T_event_registration handle, MPI_T_cb_safety safety, void *user_data)
{
    (void)handle;
    CHECK(safety == MPI_T_CB_REQUIRE_NONE && user_data == &frees);
    frees++;
}

static void stale_handles_are_refused(void)
{
    MPI_Info info;
    MPI_T_event_registration stale = registration(MPI_COMM_WORLD), unknown = (MPI_T_event_registration)(size_t)123457;
    CHECK(MPI_T_event_handle_free(stale, &frees, freed) == MPI_SUCCESS && frees == 1);
    /* The next one is in its place, and another one. */
    MPI_T_event_registration next = registration(MPI_COMM_WORLD);
    CHECK(next != stale);
    for (int i = 0; i < 3; i++) {
        MPI_T_event_registration handle = i == 0 ? stale : i == 1 ? unknown : NULL;
        CHECK(MPI_T_event_handle_free(handle, &frees, freed) == MPI_T_ERR_INVALID_HANDLE);
        CHECK(MPI_T_event_handle_set_info(handle, MPI_INFO_NULL) == MPI_T_ERR_INVALID_HANDLE);
        CHECK(MPI_T_event_handle_get_info(handle, &info) == MPI_T_ERR_INVALID_HANDLE);
        CHECK(MPI_T_event_register_callback(handle, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, NULL, count) ==
              MPI_T_ERR_INVALID_HANDLE);
        CHECK(MPI_T_event_set_dropped_handler(handle, NULL) == MPI_T_ERR_INVALID_HANDLE);
    }
    CHECK(frees == 1);
    end(next);
}

static void null_instances_are_refused(void)
{
    int number;
    MPI_Count ticks;
    CHECK(MPI_T_event_read(NULL, 0, &number) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_event_copy(NULL, &number) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_event_get_timestamp(NULL, &ticks) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_event_get_source(NULL, &number) == MPI_T_ERR_INVALID_HANDLE);
}

static void bad_sources_are_refused(void)
{
    int num = 0;
    MPI_Count ticks;
    CHECK(MPI_T_source_get_num(NULL) == MPI_ERR_ARG);
    CHECK(MPI_T_source_get_num(&num) == MPI_SUCCESS);
    for (int i = -1; i <= num; i += num + 1) {
        CHECK(MPI_T_source_get_info(i, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) ==
              MPI_T_ERR_INVALID_INDEX);
        CHECK(MPI_T_source_get_timestamp(i, &ticks) == MPI_T_ERR_INVALID_INDEX);
    }
}

static void categories_are_those_of_mpi(void)
{
    int num = 0, events = -1, index = 77;
    CHECK(MPI_T_category_get_num(&num) == MPI_SUCCESS);
    CHECK(MPI_T_category_get_num_events(-1, &events) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_category_get_num_events(num, &events) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_category_get_events(num, 1, &index) == MPI_T_ERR_INVALID_INDEX);
    if (num > 0) {
        CHECK(MPI_T_category_get_num_events(num - 1, &events) == MPI_SUCCESS && events == 0);
        CHECK(MPI_T_category_get_events(num - 1, 1, &index) == MPI_SUCCESS && index == 77);
    }
}

static void all(void)
{
    RULE(indices_are_dense_and_names_unique);
    RULE(bad_indices_and_names_are_refused);
    RULE(outputs_may_be_null_and_arrays_are_cut);
    RULE(strings_are_cut_to_their_room);
    RULE(elements_have_names);
    RULE(allocation_checks_its_arguments);
    RULE(callbacks_need_a_valid_level_and_handle);
    RULE(stale_handles_are_refused);
    RULE(null_instances_are_refused);
    RULE(bad_sources_are_refused);
    RULE(categories_are_those_of_mpi);
    frees = 0;
}

int main(int argc, char **argv)
{
    int provided;
    RULE(nothing_works_without_initialisation);
    CHECK(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided) == MPI_SUCCESS);
    puts("before MPI_Init");
    all();
    MPI_Init(&argc, &argv);
    puts("after MPI_Init");
    all();
    MPI_Finalize();
    puts("after MPI_Finalize");
    all();
    CHECK(MPI_T_finalize() == MPI_SUCCESS);
    RULE(nothing_works_without_initialisation);
    return failures != 0;
}
