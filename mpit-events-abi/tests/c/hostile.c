/* Every function of both dialects with what no tool should give it: null pointers, one at a time and all,
 * indices out of range, buffers that are too small, negative sizes, made-up handles; before and after each
 * initialisation. The code of the rules, nothing written that was not asked for, nothing crashed. */
#define _GNU_SOURCE
#include "counting.h"

#include <limits.h>
#include <sys/uio.h>
#include <unistd.h>

/* The proposal's functions by their own names, beside the standard's. */

/* Places for outputs: 0xa5 wherever nothing was written. Each output has a slot, with room around it. */
enum { SLOT = 256, SLOTS = 16, FILL = 0xa5 };
static unsigned char arena[SLOT * SLOTS];

static void clean(void)
{
    memset(arena, FILL, sizeof arena);
}

/* Whether a slot is as `clean` has left it, from byte `from` on. */
static int is_clean(int slot, size_t from)
{
    for (size_t i = from; i < SLOT; i++)
        if (arena[slot * SLOT + i] != FILL)
            return 0;
    return 1;
}

static int all_clean(void)
{
    int clean_slots = 0;
    for (int slot = 0; slot < SLOTS; slot++)
        clean_slots += is_clean(slot, 0);
    return clean_slots == SLOTS;
}

static void *slot(int number)
{
    return &arena[number * SLOT];
}

/* Null where the bit says so. */
#define MAYBE(bit) ((mask >> (bit) & 1) ? NULL : slot(bit))

/* A call that must answer with this code and write nothing. */
#define REFUSED(code, call)                                                                            \
    do {                                                                                               \
        clean();                                                                                       \
        CHECK((call) == (code));                                                                       \
        CHECK(all_clean());                                                                            \
    } while (0)

/* Fifty-six thousand is beyond any number here; some of these are zero when they are cut to 8 or 16 bits. */
static const int out_of_range[] = {-1, -2, INT_MIN, INT_MIN + 1, -256, -65536, 56000, 65536, 1 << 24, INT_MAX - 1, INT_MAX};
#define NUM_OUT_OF_RANGE (sizeof out_of_range / sizeof *out_of_range)

static const int sizes[] = {INT_MIN, -1, 0, 1, 2, 3, 4, 7};
#define NUM_SIZES (sizeof sizes / sizeof *sizes)

static int called;

static void never(MPI_T_event_instance event, MPI_T_event_registration handle, MPI_T_cb_safety safety, void *data)
{
    (void)event, (void)handle, (void)safety, (void)data;
    called++;
}

static void never_freed(MPI_T_event_registration handle, MPI_T_cb_safety safety, void *data)
{
    (void)handle, (void)safety, (void)data;
    called++;
}

static void never_dropped(MPI_Count lost, MPI_T_event_registration handle, int source, MPI_T_cb_safety safety,
                          void *data)
{
    (void)lost, (void)handle, (void)source, (void)safety, (void)data;
    called++;
}

static void never_dropped_x(int lost, MPI_T_event_registration handle, MPI_T_cb_safety safety, void *data)
{
    (void)lost, (void)handle, (void)safety, (void)data;
    called++;
}

/* Rule 1, whatever else is wrong. */
static void outside_nothing_is_done(void)
{
    const int code = MPI_T_ERR_NOT_INITIALIZED;
    /* Each with good arguments and with null pointers. */
    for (unsigned mask = 0; mask <= 0xffff; mask += 0xffff) {
        MPI_T_event_registration handle = mask != 0 ? NULL : (MPI_T_event_registration)(uintptr_t)4194305;
        MPI_Comm world = MPI_COMM_WORLD;
        void *object = mask != 0 ? NULL : &world;
        const char *name = mask != 0 ? NULL : ARRIVED;
        const int i = mask != 0 ? -1 : 0;
        REFUSED(code, MPI_T_event_get_num(MAYBE(0)));
        REFUSED(code, MPI_T_event_get_info(i, MAYBE(0), MAYBE(1), MAYBE(2), MAYBE(3), MAYBE(4), MAYBE(5), MAYBE(6),
                                           MAYBE(7), MAYBE(8), MAYBE(9), MAYBE(10)));
        REFUSED(code, MPI_T_event_get_index(name, MAYBE(0)));
        REFUSED(code, MPI_T_event_handle_alloc(i, object, MPI_INFO_NULL, MAYBE(0)));
        REFUSED(code, MPI_T_event_handle_set_info(handle, MPI_INFO_NULL));
        REFUSED(code, MPI_T_event_handle_get_info(handle, MAYBE(0)));
        REFUSED(code, MPI_T_event_register_callback(handle, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, MAYBE(0), never));
        REFUSED(code, MPI_T_event_callback_set_info(handle, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL));
        REFUSED(code, MPI_T_event_callback_get_info(handle, MPI_T_CB_REQUIRE_NONE, MAYBE(0)));
        REFUSED(code, MPI_T_event_handle_free(handle, MAYBE(0), never_freed));
        REFUSED(code, MPI_T_event_set_dropped_handler(handle, never_dropped));
        REFUSED(code, MPI_T_event_read(NULL, i, MAYBE(0)));
        REFUSED(code, MPI_T_event_copy(NULL, MAYBE(0)));
        REFUSED(code, MPI_T_event_get_timestamp(NULL, MAYBE(0)));
        REFUSED(code, MPI_T_event_get_source(NULL, MAYBE(0)));
        REFUSED(code, MPI_T_source_get_num(MAYBE(0)));
        REFUSED(code, MPI_T_source_get_info(i, MAYBE(0), MAYBE(1), MAYBE(2), MAYBE(3), MAYBE(4), MAYBE(5), MAYBE(6),
                                            MAYBE(7)));
        REFUSED(code, MPI_T_source_get_timestamp(i, MAYBE(0)));
        REFUSED(code, MPI_T_category_get_num(MAYBE(0)));
        REFUSED(code, MPI_T_category_get_info(i, MAYBE(0), MAYBE(1), MAYBE(2), MAYBE(3), MAYBE(4), MAYBE(5), MAYBE(6)));
        REFUSED(code, MPI_T_category_get_index(name, MAYBE(0)));
        REFUSED(code, MPI_T_category_get_cvars(i, 1, MAYBE(0)));
        REFUSED(code, MPI_T_category_get_pvars(i, 1, MAYBE(0)));
        REFUSED(code, MPI_T_category_get_categories(i, 1, MAYBE(0)));
        REFUSED(code, MPI_T_category_get_num_events(i, MAYBE(0)));
        REFUSED(code, MPI_T_category_get_events(i, 1, MAYBE(0)));
        REFUSED(code, MPI_T_category_changed(MAYBE(0)));

        REFUSED(code, MPIX_T_event_get_num(MAYBE(0)));
        REFUSED(code, MPIX_T_event_get_info(i, MAYBE(0), MAYBE(1), MAYBE(2), MAYBE(3), MAYBE(4), MAYBE(5), MAYBE(6),
                                            MAYBE(7), MAYBE(8), MAYBE(9), MAYBE(10)));
        REFUSED(code, MPIX_T_event_get_index(name, MAYBE(0)));
        REFUSED(code, MPIX_T_event_handle_alloc(i, object, NULL, never, MAYBE(0)));
        REFUSED(code, MPIX_T_event_handle_free(handle, never_freed));
        REFUSED(code, MPIX_T_event_set_dropped_handler(handle, never_dropped_x));
        REFUSED(code, MPIX_T_event_read(NULL, i, MAYBE(0), SLOT));
        REFUSED(code, MPIX_T_event_copy(NULL, MAYBE(0), SLOT));
        REFUSED(code, MPIX_T_event_get_timestamp(NULL, MAYBE(0)));
        REFUSED(code, MPIX_T_event_get_source(NULL, MAYBE(0)));
        REFUSED(code, MPIX_T_source_get_num(MAYBE(0)));
        REFUSED(code, MPIX_T_source_get_info(i, MAYBE(0), MAYBE(1), MAYBE(2), MAYBE(3)));
        REFUSED(code, MPIX_T_source_get_timestamp(i, MAYBE(0)));
    }
    CHECK(called == 0);
}

/* Rule 5, rule 10, rule 28, rule 37: whatever the other arguments are, null pointers among them. */
static void indices_out_of_range_are_refused(void)
{
    const int code = MPI_T_ERR_INVALID_INDEX;
    MPI_Comm world = MPI_COMM_WORLD;
    int num[3] = {0};
    CHECK(MPI_T_event_get_num(&num[0]) == MPI_SUCCESS && MPI_T_source_get_num(&num[1]) == MPI_SUCCESS &&
          MPI_T_category_get_num(&num[2]) == MPI_SUCCESS);
    for (size_t k = 0; k < NUM_OUT_OF_RANGE + 1; k++)
        for (unsigned mask = 0; mask <= 0xffff; mask += 0xffff) {
            /* Last of all the first ones that are not there. */
            const int at_end = k == NUM_OUT_OF_RANGE, i = at_end ? num[0] : out_of_range[k],
                      s = at_end ? num[1] : i, c = at_end ? num[2] : i;
            void *object = mask != 0 ? NULL : &world;
            REFUSED(code, MPI_T_event_get_info(i, MAYBE(0), MAYBE(1), MAYBE(2), MAYBE(3), MAYBE(4), MAYBE(5), MAYBE(6),
                                               MAYBE(7), MAYBE(8), MAYBE(9), MAYBE(10)));
            REFUSED(code, MPIX_T_event_get_info(i, MAYBE(0), MAYBE(1), MAYBE(2), MAYBE(3), MAYBE(4), MAYBE(5),
                                                MAYBE(6), MAYBE(7), MAYBE(8), MAYBE(9), MAYBE(10)));
            REFUSED(code, MPI_T_event_handle_alloc(i, object, MPI_INFO_NULL, MAYBE(0)));
            REFUSED(code, MPIX_T_event_handle_alloc(i, object, NULL, mask != 0 ? NULL : never, MAYBE(0)));
            REFUSED(code, MPI_T_source_get_info(s, MAYBE(0), MAYBE(1), MAYBE(2), MAYBE(3), MAYBE(4), MAYBE(5),
                                                MAYBE(6), MAYBE(7)));
            REFUSED(code, MPIX_T_source_get_info(s, MAYBE(0), MAYBE(1), MAYBE(2), MAYBE(3)));
            REFUSED(code, MPI_T_source_get_timestamp(s, MAYBE(0)));
            REFUSED(code, MPIX_T_source_get_timestamp(s, MAYBE(0)));
            REFUSED(code, MPI_T_category_get_num_events(c, MAYBE(0)));
            REFUSED(code, MPI_T_category_get_events(c, 1, MAYBE(0)));
        }
}

/* Rule 5: what must be there. */
static void missing_pointers_are_refused(void)
{
    const int code = MPI_ERR_ARG;
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_T_event_registration handle = registration(MPI_COMM_WORLD);
    int sources = 0, ours = -1;
    CHECK(MPI_T_category_get_index("mpit_events", &ours) == MPI_SUCCESS);
    CHECK(MPI_T_event_register_callback(handle, MPI_T_CB_REQUIRE_THREAD_SAFE, MPI_INFO_NULL, NULL, never) ==
          MPI_SUCCESS);
    REFUSED(code, MPI_T_event_get_num(NULL));
    REFUSED(code, MPIX_T_event_get_num(NULL));
    REFUSED(code, MPI_T_event_get_index(NULL, NULL));
    REFUSED(code, MPI_T_event_get_index(NULL, slot(0)));
    REFUSED(code, MPI_T_event_get_index(ARRIVED, NULL));
    REFUSED(code, MPIX_T_event_get_index(NULL, NULL));
    REFUSED(code, MPIX_T_event_get_index(NULL, slot(0)));
    REFUSED(code, MPIX_T_event_get_index(ARRIVED, NULL));
    REFUSED(code, MPI_T_event_handle_alloc(arrived(), &world, MPI_INFO_NULL, NULL));
    REFUSED(code, MPI_T_event_handle_alloc(arrived(), NULL, MPI_INFO_NULL, NULL));
    REFUSED(MPI_T_ERR_INVALID_HANDLE, MPI_T_event_handle_alloc(arrived(), NULL, MPI_INFO_NULL, slot(0)));
    REFUSED(code, MPIX_T_event_handle_alloc(arrived(), &world, NULL, never, NULL));
    REFUSED(code, MPIX_T_event_handle_alloc(arrived(), &world, NULL, NULL, slot(0)));
    REFUSED(code, MPIX_T_event_handle_alloc(arrived(), NULL, NULL, NULL, NULL));
    REFUSED(MPI_T_ERR_INVALID_HANDLE, MPIX_T_event_handle_alloc(arrived(), NULL, NULL, never, slot(0)));
    REFUSED(code, MPI_T_event_handle_get_info(handle, NULL));
    REFUSED(code, MPI_T_event_callback_get_info(handle, MPI_T_CB_REQUIRE_THREAD_SAFE, NULL));
    REFUSED(code, MPI_T_source_get_num(NULL));
    REFUSED(code, MPIX_T_source_get_num(NULL));
    CHECK(MPI_T_source_get_num(&sources) == MPI_SUCCESS);
    for (int i = 0; i < sources; i++) {
        REFUSED(code, MPI_T_source_get_timestamp(i, NULL));
        REFUSED(code, MPIX_T_source_get_timestamp(i, NULL));
    }
    REFUSED(code, MPI_T_category_get_num(NULL));
    REFUSED(code, MPI_T_category_get_index(NULL, slot(0)));
    REFUSED(code, MPI_T_category_get_index("mpit_events", NULL));
    REFUSED(code, MPI_T_category_changed(NULL));
    REFUSED(code, MPI_T_category_get_num_events(ours, NULL));
    REFUSED(code, MPI_T_category_get_events(ours, 1, NULL));
    /* These take null for "none". */
    REFUSED(MPI_SUCCESS, MPI_T_event_set_dropped_handler(handle, NULL));
    REFUSED(MPI_SUCCESS, MPIX_T_event_set_dropped_handler(handle, NULL));
    REFUSED(MPI_SUCCESS, MPI_T_event_register_callback(handle, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, NULL, NULL));
    REFUSED(MPI_SUCCESS, MPI_T_category_get_events(ours, 0, NULL));
    end(handle);
    CHECK(called == 0);
}

/* Rule 23, rule 35 and a level that is none. */
static void made_up_handles_are_refused(void)
{
    const int code = MPI_T_ERR_INVALID_HANDLE;
    MPI_T_event_registration live = registration(MPI_COMM_WORLD), stale = registration(MPI_COMM_WORLD);
    end(stale);
    const uintptr_t made_up[] = {0, 1, 8, UINTPTR_MAX, UINTPTR_MAX - 1, (uintptr_t)stale, (uintptr_t)live ^ 1,
                                 (uintptr_t)live + ((uintptr_t)1 << 22), (uintptr_t)live ^ ((uintptr_t)1 << 60),
                                 ~(uintptr_t)live, (uintptr_t)arena};
    for (size_t k = 0; k < sizeof made_up / sizeof *made_up; k++) {
        MPI_T_event_registration handle = (MPI_T_event_registration)made_up[k];
        REFUSED(code, MPI_T_event_handle_set_info(handle, MPI_INFO_NULL));
        REFUSED(code, MPI_T_event_handle_get_info(handle, slot(0)));
        REFUSED(code, MPI_T_event_register_callback(handle, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, NULL, never));
        REFUSED(code, MPI_T_event_callback_set_info(handle, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL));
        REFUSED(code, MPI_T_event_callback_get_info(handle, MPI_T_CB_REQUIRE_NONE, slot(0)));
        REFUSED(code, MPI_T_event_handle_free(handle, NULL, never_freed));
        REFUSED(code, MPI_T_event_set_dropped_handler(handle, never_dropped));
        REFUSED(code, MPIX_T_event_handle_free(handle, never_freed));
        REFUSED(code, MPIX_T_event_set_dropped_handler(handle, never_dropped_x));
    }
    const int levels[] = {-1, INT_MIN, INT_MAX, 4, 256, 65536};
    for (size_t k = 0; k < sizeof levels / sizeof *levels; k++) {
        const MPI_T_cb_safety level = (MPI_T_cb_safety)levels[k];
        REFUSED(code, MPI_T_event_register_callback(live, level, MPI_INFO_NULL, NULL, never));
        REFUSED(code, MPI_T_event_callback_set_info(live, level, MPI_INFO_NULL));
        REFUSED(code, MPI_T_event_callback_get_info(live, level, slot(0)));
    }
    REFUSED(code, MPI_T_event_read(NULL, 0, slot(0)));
    REFUSED(code, MPI_T_event_copy(NULL, slot(0)));
    REFUSED(code, MPI_T_event_get_timestamp(NULL, slot(0)));
    REFUSED(code, MPI_T_event_get_source(NULL, slot(0)));
    REFUSED(code, MPIX_T_event_read(NULL, 0, slot(0), SLOT));
    REFUSED(code, MPIX_T_event_copy(NULL, slot(0), SLOT));
    REFUSED(code, MPIX_T_event_get_timestamp(NULL, slot(0)));
    REFUSED(code, MPIX_T_event_get_source(NULL, slot(0)));
    end(live);
    CHECK(called == 0);
}

/* Sets an INOUT length before the call. */
static void set_length(int number, int value)
{
    memcpy(slot(number), &value, sizeof value);
}

static int length_of(int number)
{
    int value;
    memcpy(&value, slot(number), sizeof value);
    return value;
}

/* A string output is as MPI_T returns them, and nothing is written behind it. */
static void check_text(unsigned mask, int text, int length, int room, int whole)
{
    const int fits = room > 0 && !(mask >> text & 1) && !(mask >> length & 1);
    const int written = !fits ? 0 : room < whole ? room : whole;
    CHECK(is_clean(text, (size_t)written));
    if (!(mask >> length & 1)) {
        CHECK(length_of(length) == (fits ? written : whole));
        CHECK(is_clean(length, sizeof(int)));
    }
    CHECK(!fits || ((char *)slot(text))[written - 1] == '\0');
}

/* Whether the four or eight bytes of an output were written, and none behind. */
static void check_output(unsigned mask, int number, size_t size)
{
    if (mask >> number & 1)
        CHECK(is_clean(number, 0));
    else
        CHECK(!is_clean(number, 0) && is_clean(number, size));
}

/* Rule 6, rule 7: outputs that are null, in each combination; sizes that are negative or too small. */
static void outputs_are_given_as_far_as_they_go(void)
{
    int name_whole = 0, desc_whole = 0;
    CHECK(MPI_T_event_get_info(arrived(), NULL, &name_whole, NULL, NULL, NULL, NULL, NULL, NULL, NULL, &desc_whole,
                               NULL) == MPI_SUCCESS);
    for (unsigned mask = 0; mask < 1 << 11; mask++)
        for (int dialect = 0; dialect < 2; dialect++) {
            const int room = sizes[mask % NUM_SIZES], elements = sizes[(mask / 8) % NUM_SIZES];
            clean();
            set_length(1, room);
            set_length(9, room);
            set_length(5, elements);
            CHECK((dialect == 0 ? MPI_T_event_get_info(arrived(), MAYBE(0), MAYBE(1), MAYBE(2), MAYBE(3), MAYBE(4),
                                                       MAYBE(5), MAYBE(6), MAYBE(7), MAYBE(8), MAYBE(9), MAYBE(10))
                                : MPIX_T_event_get_info(arrived(), MAYBE(0), MAYBE(1), MAYBE(2), MAYBE(3), MAYBE(4),
                                                        MAYBE(5), MAYBE(6), MAYBE(7), MAYBE(8), MAYBE(9), MAYBE(10))) ==
                  MPI_SUCCESS);
            check_text(mask, 0, 1, room, name_whole);
            check_text(mask, 8, 9, room, desc_whole);
            check_output(mask, 2, sizeof(int));
            check_output(mask, 6, sizeof(MPI_T_enum));
            check_output(mask, 7, dialect == 0 ? sizeof(MPI_Info) : sizeof(MPI_Aint));
            check_output(mask, 10, sizeof(int));
            const int sized = !(mask >> 5 & 1), most = elements < 0 ? 0 : elements > 4 ? 4 : elements;
            CHECK(!sized || (length_of(5) == 4 && is_clean(5, sizeof(int))));
            for (int array = 3; array <= 4; array++) {
                const size_t width = array == 3 ? sizeof(MPI_Datatype) : sizeof(MPI_Aint);
                CHECK(is_clean(array, !sized || (mask >> array & 1) ? 0 : width * (size_t)most));
            }
            if (dialect == 0 && !(mask >> 7 & 1)) {
                MPI_Info info;
                memcpy(&info, slot(7), sizeof info);
                CHECK(info == MPI_INFO_NULL || MPI_Info_free(&info) == MPI_SUCCESS);
            }
        }
}

static void sources_are_told_as_far_as_wanted(void)
{
    int sources = 0, name_whole = 0, desc_whole = 0;
    CHECK(MPI_T_source_get_num(&sources) == MPI_SUCCESS);
    if (sources == 0)
        return;
    CHECK(MPI_T_source_get_info(0, NULL, &name_whole, NULL, &desc_whole, NULL, NULL, NULL, NULL) == MPI_SUCCESS);
    for (unsigned mask = 0; mask < 1 << 8; mask++) {
        const int room = sizes[mask % NUM_SIZES];
        clean();
        set_length(1, room);
        set_length(3, room);
        CHECK(MPI_T_source_get_info(0, MAYBE(0), MAYBE(1), MAYBE(2), MAYBE(3), MAYBE(4), MAYBE(5), MAYBE(6),
                                    MAYBE(7)) == MPI_SUCCESS);
        check_text(mask, 0, 1, room, name_whole);
        check_text(mask, 2, 3, room, desc_whole);
        check_output(mask, 4, sizeof(MPI_T_source_order));
        check_output(mask, 5, sizeof(MPI_Count));
        check_output(mask, 6, sizeof(MPI_Count));
        check_output(mask, 7, sizeof(MPI_Info));
        if (!(mask >> 7 & 1)) {
            MPI_Info info;
            memcpy(&info, slot(7), sizeof info);
            CHECK(info == MPI_INFO_NULL || MPI_Info_free(&info) == MPI_SUCCESS);
        }
        clean();
        set_length(1, room);
        CHECK(MPIX_T_source_get_info(0, MAYBE(0), MAYBE(1), MAYBE(2), MAYBE(3)) == MPI_SUCCESS);
        check_text(mask, 0, 1, room, desc_whole);
        check_output(mask, 2, sizeof(MPI_T_source_order));
        check_output(mask, 3, sizeof(MPI_Count));
    }
}

static void categories_are_told_as_far_as_wanted(void)
{
    int ours = -1, events = 0, name_whole = 0, desc_whole = 0;
    CHECK(MPI_T_category_get_index("mpit_events", &ours) == MPI_SUCCESS);
    CHECK(MPI_T_category_get_num_events(ours, &events) == MPI_SUCCESS && events > 3);
    CHECK(MPI_T_category_get_info(ours, NULL, &name_whole, NULL, &desc_whole, NULL, NULL, NULL) == MPI_SUCCESS);
    for (unsigned mask = 0; mask < 1 << 7; mask++) {
        const int room = sizes[mask % NUM_SIZES];
        clean();
        set_length(1, room);
        set_length(3, room);
        CHECK(MPI_T_category_get_info(ours, MAYBE(0), MAYBE(1), MAYBE(2), MAYBE(3), MAYBE(4), MAYBE(5), MAYBE(6)) ==
              MPI_SUCCESS);
        check_text(mask, 0, 1, room, name_whole);
        check_text(mask, 2, 3, room, desc_whole);
        for (int number = 4; number < 7; number++)
            check_output(mask, number, sizeof(int));
    }
    for (size_t k = 0; k < NUM_SIZES; k++) {
        clean();
        CHECK(MPI_T_category_get_events(ours, sizes[k], slot(0)) == MPI_SUCCESS);
        const int most = sizes[k] < 0 ? 0 : sizes[k] < events ? sizes[k] : events;
        CHECK(is_clean(0, sizeof(int) * (size_t)most));
        REFUSED(MPI_SUCCESS, MPI_T_category_get_cvars(ours, sizes[k], slot(0)));
        REFUSED(MPI_SUCCESS, MPI_T_category_get_pvars(ours, sizes[k], slot(0)));
        REFUSED(MPI_SUCCESS, MPI_T_category_get_categories(ours, sizes[k], slot(0)));
    }
}

/* Rule 12: what lies behind the address is compared, never followed. */
static void made_up_objects_do_no_harm(void)
{
    for (int fill = 0; fill < 256; fill += 85) {
        MPI_Comm object;
        struct seen seen = {0};
        MPI_T_event_registration handle = NULL;
        memset(&object, fill, sizeof object);
        const int code = MPI_T_event_handle_alloc(arrived(), &object, MPI_INFO_NULL, &handle);
        CHECK(code == MPI_SUCCESS || code == MPI_T_ERR_INVALID_HANDLE);
        CHECK((code == MPI_SUCCESS) == (handle != NULL));
        if (handle != NULL) {
            listen(handle, MPI_T_CB_REQUIRE_THREAD_SAFE, &seen);
            end(handle);
        }
        CHECK(seen.events == 0);
    }
}

/* Whether this process may ask the system for its own memory; some sandboxes forbid it. */
static int can_ask(void)
{
    char from = 1, to = 0;
    struct iovec local = {&to, 1}, remote = {&from, 1};
    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 1;
}

/* Rule 41: what is no handle, and where no memory is. */
static void addresses_without_memory_are_refused(void)
{
    const uintptr_t nowhere[] = {1, 2, 8, 4095, (uintptr_t)0x84000777, (uintptr_t)0xffffffff84000777, UINTPTR_MAX,
                                 UINTPTR_MAX - 7, (uintptr_t)1 << 63, (uintptr_t)1 << 55};
    for (size_t k = 0; can_ask() && k < sizeof nowhere / sizeof *nowhere; k++) {
        void *object = (void *)nowhere[k];
        REFUSED(MPI_T_ERR_INVALID_HANDLE, MPI_T_event_handle_alloc(arrived(), object, MPI_INFO_NULL, slot(0)));
        REFUSED(MPI_T_ERR_INVALID_HANDLE, MPIX_T_event_handle_alloc(arrived(), object, NULL, never, slot(0)));
    }
    CHECK(called == 0);
}

static int heard;

/* Rule 24, rule 25: in a callback, where the event is good and all else is not. */
static void abuse(MPI_T_event_instance event, MPI_T_event_registration handle, MPI_T_cb_safety safety, void *data)
{
    static const int too_small[] = {INT_MIN, -1, 0, 1, 3};
    (void)handle, (void)safety, (void)data;
    heard++;
    REFUSED(MPI_ERR_ARG, MPI_T_event_read(event, 0, NULL));
    REFUSED(MPI_ERR_ARG, MPI_T_event_copy(event, NULL));
    REFUSED(MPI_ERR_ARG, MPI_T_event_get_timestamp(event, NULL));
    REFUSED(MPI_ERR_ARG, MPI_T_event_get_source(event, NULL));
    REFUSED(MPI_ERR_ARG, MPIX_T_event_read(event, 0, NULL, SLOT));
    REFUSED(MPI_ERR_ARG, MPIX_T_event_copy(event, NULL, SLOT));
    REFUSED(MPI_ERR_ARG, MPIX_T_event_get_timestamp(event, NULL));
    REFUSED(MPI_ERR_ARG, MPIX_T_event_get_source(event, NULL));
    for (size_t k = 0; k < NUM_OUT_OF_RANGE; k++) {
        REFUSED(MPI_T_ERR_INVALID_INDEX, MPI_T_event_read(event, out_of_range[k], slot(0)));
        REFUSED(MPI_T_ERR_INVALID_INDEX, MPIX_T_event_read(event, out_of_range[k], slot(0), SLOT));
        REFUSED(MPI_T_ERR_INVALID_INDEX, MPI_T_event_read(event, out_of_range[k], NULL));
    }
    REFUSED(MPI_T_ERR_INVALID_INDEX, MPI_T_event_read(event, 4, slot(0)));
    for (size_t k = 0; k < sizeof too_small / sizeof *too_small; k++) {
        REFUSED(MPI_ERR_ARG, MPIX_T_event_read(event, 3, slot(0), too_small[k]));
        REFUSED(MPI_ERR_ARG, MPIX_T_event_copy(event, slot(0), too_small[k]));
        REFUSED(MPI_ERR_ARG, MPIX_T_event_copy(event, NULL, too_small[k]));
    }
    REFUSED(MPI_ERR_ARG, MPIX_T_event_copy(event, slot(0), 15));
    /* As much as was promised, and not a byte more, wherever it is to go. */
    for (int at = 0; at < 9; at++) {
        clean();
        CHECK(MPI_T_event_read(event, at % 4, (char *)slot(0) + at) == MPI_SUCCESS && is_clean(0, (size_t)at + 4));
        CHECK(MPI_T_event_copy(event, (char *)slot(1) + at) == MPI_SUCCESS && is_clean(1, (size_t)at + 16));
        CHECK(MPIX_T_event_read(event, at % 4, (char *)slot(2) + at, 4) == MPI_SUCCESS &&
              is_clean(2, (size_t)at + 4));
        CHECK(MPIX_T_event_copy(event, (char *)slot(3) + at, INT_MAX) == MPI_SUCCESS && is_clean(3, (size_t)at + 16));
        CHECK(MPI_T_event_get_timestamp(event, (MPI_Count *)slot(4)) == MPI_SUCCESS && is_clean(4, sizeof(MPI_Count)));
        CHECK(MPI_T_event_get_source(event, (int *)slot(5)) == MPI_SUCCESS && is_clean(5, sizeof(int)));
    }
}

static void events_are_read_within_bounds(void)
{
    int rank, in = 0, out = 1;
    MPI_T_event_registration handle = registration(MPI_COMM_WORLD);
    CHECK(MPI_T_event_register_callback(handle, MPI_T_CB_REQUIRE_THREAD_SAFE, MPI_INFO_NULL, NULL, abuse) ==
          MPI_SUCCESS);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Sendrecv(&out, 1, MPI_INT, rank, 5, &in, 1, MPI_INT, rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(heard == 1);
    end(handle);
}

/* Not names: too long, not text, nearly one. */
static void strange_names_are_refused(void)
{
    static char longest[1 << 16];
    memset(longest, 'x', sizeof longest - 1);
    const char *const names[] = {"", " ", "ompi_", "ompi_ompi_pml_ob1_message_arrived", "pml_ob1_message_arrive",
                                 "pml_ob1_message_arrived ", "PML_OB1_MESSAGE_ARRIVED", "\x80\x81\xff",
                                 "pml_ob1_message_arrived\xc3", "%s%n", longest};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        REFUSED(MPI_T_ERR_INVALID_NAME, MPI_T_event_get_index(names[k], slot(0)));
        REFUSED(MPI_T_ERR_INVALID_NAME, MPIX_T_event_get_index(names[k], slot(0)));
        REFUSED(MPI_ERR_ARG, MPI_T_event_get_index(names[k], NULL));
    }
}

static void at_any_time(void)
{
    RULE(indices_out_of_range_are_refused);
    RULE(missing_pointers_are_refused);
    RULE(made_up_handles_are_refused);
    RULE(outputs_are_given_as_far_as_they_go);
    RULE(sources_are_told_as_far_as_wanted);
    RULE(categories_are_told_as_far_as_wanted);
    RULE(made_up_objects_do_no_harm);
    RULE(addresses_without_memory_are_refused);
    RULE(strange_names_are_refused);
}

int main(int argc, char **argv)
{
    int provided;
    RULE(outside_nothing_is_done);
    CHECK(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided) == MPI_SUCCESS);
    at_any_time();
    MPI_Init(&argc, &argv);
    at_any_time();
    RULE(events_are_read_within_bounds);
    MPI_Finalize();
    at_any_time();
    CHECK(MPI_T_finalize() == MPI_SUCCESS);
    RULE(outside_nothing_is_done);
    return failures != 0;
}
