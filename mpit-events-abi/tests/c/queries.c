/* The rules on queries and handles, which hold before MPI_Init and after MPI_Finalize too. */
#include "counting.h"

/* Rule 1. */
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
    CHECK(MPI_T_category_get_num(&number) == refused);
    CHECK(MPI_T_category_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL) == refused);
    CHECK(MPI_T_category_get_index("mpit_events", &number) == refused);
    CHECK(MPI_T_category_get_cvars(0, 0, &number) == refused);
    CHECK(MPI_T_category_get_pvars(0, 0, &number) == refused);
    CHECK(MPI_T_category_get_categories(0, 0, &number) == refused);
    CHECK(MPI_T_category_changed(&number) == refused);
    CHECK(PMPI_T_event_get_num(&number) == refused);
    CHECK(MPI_T_finalize() != MPI_SUCCESS);
}

/* Rule 4. */
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

/* Rule 5. */
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

/* Rule 6, rule 9, rule 39. */
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

/* Rule 7. */
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

/* Rule 8. */
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

/* Rule 10, rule 12. */
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

/* Rule 16, rule 36. */
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

/* Rule 35. */
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

/* Rule 23. */
static void null_instances_are_refused(void)
{
    int number;
    MPI_Count ticks;
    CHECK(MPI_T_event_read(NULL, 0, &number) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_event_copy(NULL, &number) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_event_get_timestamp(NULL, &ticks) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_event_get_source(NULL, &number) == MPI_T_ERR_INVALID_HANDLE);
}

/* Rule 28. */
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

/* Rule 37. */
static void categories_of_mpi_keep_their_indices(void)
{
    static int known;
    static char names[512][128];
    int num = 0, stamp = -1, again = -2, found = 0;
    CHECK(MPI_T_category_get_num(&num) == MPI_SUCCESS && num > 0);
    CHECK(MPI_T_category_changed(&stamp) == MPI_SUCCESS && MPI_T_category_changed(&again) == MPI_SUCCESS);
    CHECK(stamp == again);
    for (int i = 0; i < num && i < 512; i++) {
        char name[128];
        int name_len = sizeof name, desc_len = 0, cvars = -1, pvars = -1, inner = -1, index = -1;
        /* Open MPI withdraws some of its own. */
        if (MPI_T_category_get_info(i, name, &name_len, NULL, &desc_len, &cvars, &pvars, &inner) != MPI_SUCCESS)
            continue;
        found++;
        CHECK(MPI_T_category_get_index(name, &index) == MPI_SUCCESS && index == i);
        CHECK(cvars >= 0 && pvars >= 0 && inner >= 0);
        /* It may come later than others, but it does not move. */
        CHECK(names[i][0] == '\0' || strcmp(names[i], name) == 0);
        memcpy(names[i], name, sizeof name);
        int *list = malloc(sizeof(int) * (size_t)(cvars + pvars + inner + 1));
        CHECK(MPI_T_category_get_cvars(i, cvars, list) == MPI_SUCCESS);
        CHECK(MPI_T_category_get_pvars(i, pvars, list + cvars) == MPI_SUCCESS);
        CHECK(MPI_T_category_get_categories(i, inner, list + cvars + pvars) == MPI_SUCCESS);
        for (int j = 0; j < inner; j++)
            CHECK(list[cvars + pvars + j] >= 0 && list[cvars + pvars + j] < num);
        free(list);
    }
    CHECK(num >= known && found > num / 2);
    known = num;
}

/* Rule 37. */
static void our_events_are_in_a_category(void)
{
    int num = 0, ours = -1, events = -1, types = 0, cvars = -1, pvars = -1, inner = -1, all = 0;
    int indices[256], again = -1;
    char name[64], desc[128];
    int name_len = sizeof name, desc_len = sizeof desc;
    CHECK(MPI_T_category_get_num(&num) == MPI_SUCCESS && MPI_T_event_get_num(&types) == MPI_SUCCESS);
    CHECK(MPI_T_category_get_index("mpit_events", &ours) == MPI_SUCCESS && ours >= 0 && ours < num);
    CHECK(PMPI_T_category_get_index("mpit_events", &again) == MPI_SUCCESS && again == ours);
    CHECK(MPI_T_category_get_info(ours, name, &name_len, desc, &desc_len, &cvars, &pvars, &inner) == MPI_SUCCESS);
    CHECK(strcmp(name, "mpit_events") == 0 && name_len == 12 && desc_len == (int)strlen(desc) + 1);
    CHECK(cvars == 0 && pvars == 0 && inner == 0);
    name_len = 4;
    CHECK(MPI_T_category_get_info(ours, name, &name_len, NULL, NULL, NULL, NULL, NULL) == MPI_SUCCESS);
    CHECK(name_len == 4 && strcmp(name, "mpi") == 0);

    CHECK(MPI_T_category_get_num_events(ours, &events) == MPI_SUCCESS && events >= 16 && events <= types);
    memset(indices, 0x55, sizeof indices);
    CHECK(MPI_T_category_get_events(ours, 3, indices) == MPI_SUCCESS);
    CHECK(indices[2] >= 0 && indices[2] < types && indices[3] == 0x55555555);
    CHECK(MPI_T_category_get_events(ours, 256, indices) == MPI_SUCCESS && indices[events] == 0x55555555);
    for (int i = 0; i < events; i++) {
        CHECK(indices[i] >= 0 && indices[i] < types && (i == 0 || indices[i] > indices[i - 1]));
        all += indices[i] == arrived();
    }
    CHECK(all == 1);
    indices[0] = 77;
    CHECK(MPI_T_category_get_cvars(ours, 1, indices) == MPI_SUCCESS && indices[0] == 77);
    CHECK(MPI_T_category_get_pvars(ours, 1, indices) == MPI_SUCCESS && indices[0] == 77);
    CHECK(MPI_T_category_get_categories(ours, 1, indices) == MPI_SUCCESS && indices[0] == 77);
    CHECK(MPI_T_category_get_events(ours, 0, NULL) == MPI_SUCCESS);
    CHECK(MPI_T_category_get_events(ours, -5, indices) == MPI_SUCCESS && indices[0] == 77);

    /* Each event is in one category only. */
    all = 0;
    for (int i = 0; i < num; i++) {
        CHECK(MPI_T_category_get_num_events(i, &events) == MPI_SUCCESS);
        all += events;
    }
    CHECK(all == types);
}

/* Rule 37. */
static void bad_categories_are_refused(void)
{
    int num = 0, number = 77, events = 77;
    CHECK(MPI_T_category_get_num(NULL) == MPI_ERR_ARG && MPI_T_category_get_num(&num) == MPI_SUCCESS);
    for (int i = -1; i <= num; i += num + 1) {
        char name[8];
        int name_len = sizeof name, desc_len = 0, cvars, pvars, inner;
        CHECK(MPI_T_category_get_info(i, name, &name_len, NULL, &desc_len, &cvars, &pvars, &inner) ==
              MPI_T_ERR_INVALID_INDEX);
        CHECK(MPI_T_category_get_cvars(i, 1, &number) == MPI_T_ERR_INVALID_INDEX);
        CHECK(MPI_T_category_get_pvars(i, 1, &number) == MPI_T_ERR_INVALID_INDEX);
        CHECK(MPI_T_category_get_categories(i, 1, &number) == MPI_T_ERR_INVALID_INDEX);
        CHECK(MPI_T_category_get_num_events(i, &events) == MPI_T_ERR_INVALID_INDEX);
        CHECK(MPI_T_category_get_events(i, 1, &number) == MPI_T_ERR_INVALID_INDEX);
    }
    CHECK(MPI_T_category_get_index("no such category", &number) == MPI_T_ERR_INVALID_NAME);
    CHECK(MPI_T_category_get_index(NULL, &number) == MPI_ERR_ARG);
    CHECK(MPI_T_category_get_index("mpit_events", NULL) == MPI_ERR_ARG);
    CHECK(MPI_T_category_changed(NULL) == MPI_ERR_ARG);
    CHECK(MPI_T_category_get_num_events(num - 1, NULL) == MPI_ERR_ARG);
    CHECK(MPI_T_category_get_events(num - 1, 1, NULL) == MPI_ERR_ARG);
    CHECK(number == 77 && events == 77);
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
    RULE(categories_of_mpi_keep_their_indices);
    RULE(our_events_are_in_a_category);
    RULE(bad_categories_are_refused);
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
