/* The events that Open MPI has itself since version 6, before any MPI: nine types of two sources, as its documentation describes them.
 * To be preloaded behind MEL. What it does as Open MPI does:
 *
 * - the types are there before MPI_Init, the initialisation is told in it and the finalisation in MPI_Finalize;
 * - of the callbacks of a registration that one is called which demands most of those that demand no more than the place offers, and
 *   no place offers that of a signal handler;
 * - the naming of a communicator is told to registrations on that communicator alone, by the value of its handle;
 * - the source without order keeps what happens there, and tells it as one event when it is asked for the time;
 * - elements have no names. */
#include <mpit_events.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { INITIALIZED, FINALIZED, COMM_CREATED, COMM_FREED, COMM_NAMED, ERROR, WIN_CREATED, WIN_FREED, RELEASED, TYPES };
enum { MOST = 64, LEVELS = 4 };

static const struct type {
    const char *name, *description;
    int elements, widths[5], offsets[5], bytes;
} types[TYPES] = {
    {"ompi.mpi.initialization", "an instance of MPI was initialised", 5, {4, 4, 4, 4, 8}, {0, 4, 8, 12, 16}, 24},
    {"ompi.mpi.finalization", "an instance of MPI was finalised", 3, {4, 4, 8}, {0, 4, 8}, 16},
    {"ompi.mpi.communicator_created", "a communicator was created", 2, {4, 8}, {0, 8}, 16},
    {"ompi.mpi.communicator_freed", "a communicator was freed", 1, {8}, {0}, 8},
    {"ompi.mpi.communicator_name_set", "a communicator was named", 1, {8}, {0}, 8},
    {"ompi.mpi.errhandler_invoked", "an error handler was invoked", 4, {4, 4, 8, 8}, {0, 4, 8, 16}, 24},
    {"ompi.mpi.win_created", "a window was created", 4, {8, 4, 4, 8}, {0, 8, 12, 16}, 24},
    {"ompi.mpi.win_freed", "a window was freed", 2, {4, 8}, {0, 8}, 16},
    {"ompi.mca.memory.patcher.released", "memory was released to the system", 2, {8, 8}, {0, 8}, 16},
};

struct mpit_events_registration {
    int live, type;
    uint64_t object;
    MPI_T_event_cb_function *callbacks[LEVELS];
    void *data[LEVELS];
};

/* Its words are in the order of MPICH's, which MEL looks into where the MPI is one. */
struct mpit_events_instance {
    uint64_t type;
    MPI_Count stamp;
    const void *payload;
};

static struct mpit_events_registration registrations[MOST];
static struct { uint64_t count, bytes; } sink;
/* Registrations on objects that had been freed. */
static int outlived;

static MPI_Count now(void)
{
    static MPI_Count first;
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    MPI_Count all = (MPI_Count)time.tv_sec * 1000000000 + time.tv_nsec;
    if (!first)
        first = all - 1;
    return all - first;
}

static void raise_event(int type, uint64_t object, const void *payload)
{
    struct mpit_events_instance instance = {(uint64_t)type, now(), payload};
    for (int each = 0; each < MOST; each++) {
        struct mpit_events_registration *one = &registrations[each];
        if (!one->live || one->type != type || one->object != object)
            continue;
        for (int level = MPI_T_CB_REQUIRE_THREAD_SAFE; level >= 0; level--) {
            if (one->callbacks[level]) {
                one->callbacks[level]((MPI_T_event_instance)&instance, (MPI_T_event_registration)one,
                                      (MPI_T_cb_safety)level, one->data[level]);
                break;
            }
        }
    }
}

static void drain(void)
{
    uint64_t payload[2] = {sink.count, sink.bytes};
    sink.count = sink.bytes = 0;
    if (payload[0])
        raise_event(RELEASED, 0, payload);
}

/* The interface. */

static int text(const char *from, char *to, int *length)
{
    int room = *length;
    if (to && room > 0) {
        strncpy(to, from, (size_t)room - 1);
        to[room - 1] = 0;
    }
    *length = (int)strlen(from) + 1;
    return MPI_SUCCESS;
}

static MPI_Datatype of_width(int bytes) { return bytes == 4 ? MPI_INT32_T : MPI_UINT64_T; }

int PMPI_T_event_get_num(int *number) { return *number = TYPES, MPI_SUCCESS; }

int PMPI_T_event_get_info(int index, char *name, int *name_len, int *verbosity, MPI_Datatype datatypes[],
                          MPI_Aint displacements[], int *elements, MPI_T_enum *enumeration, MPI_Info *info, char *desc,
                          int *desc_len, int *bind)
{
    if (index < 0 || index >= TYPES)
        return MPI_T_ERR_INVALID_INDEX;
    const struct type *type = &types[index];
    text(type->name, name, name_len);
    text(type->description, desc, desc_len);
    *verbosity = MPI_T_VERBOSITY_USER_DETAIL;
    for (int each = 0; each < *elements && each < type->elements; each++) {
        datatypes[each] = of_width(type->widths[each]);
        displacements[each] = type->offsets[each];
    }
    *elements = type->elements;
    memset(enumeration, 0, sizeof *enumeration);
    if (info)
        *info = MPI_INFO_NULL;
    *bind = index == COMM_NAMED ? MPI_T_BIND_MPI_COMM : MPI_T_BIND_NO_OBJECT;
    return MPI_SUCCESS;
}

int PMPI_T_event_get_index(const char *name, int *index)
{
    for (*index = 0; *index < TYPES; ++*index)
        if (!strcmp(types[*index].name, name))
            return MPI_SUCCESS;
    return MPI_T_ERR_INVALID_NAME;
}

int PMPI_T_event_handle_alloc(int index, void *object, MPI_Info info, MPI_T_event_registration *made)
{
    (void)info;
    drain();
    if (index == COMM_NAMED && !object)
        return MPI_T_ERR_INVALID_HANDLE;
    for (int each = 0; each < MOST; each++) {
        struct mpit_events_registration *one = &registrations[each];
        if (one->live)
            continue;
        memset(one, 0, sizeof *one);
        one->live = 1;
        one->type = index;
        if (index == COMM_NAMED)
            memcpy(&one->object, object, sizeof(MPI_Comm));
        *made = (MPI_T_event_registration)one;
        return MPI_SUCCESS;
    }
    return MPI_T_ERR_OUT_OF_HANDLES;
}

int PMPI_T_event_handle_free(MPI_T_event_registration registration, void *data, MPI_T_event_free_cb_function *freed)
{
    struct mpit_events_registration *one = (void *)registration;
    (void)data, (void)freed;
    drain();
    if (!one->live)
        return MPI_T_ERR_INVALID_HANDLE;
    one->live = 0;
    return MPI_SUCCESS;
}

int PMPI_T_event_register_callback(MPI_T_event_registration registration, MPI_T_cb_safety level, MPI_Info info, void *data,
                                   MPI_T_event_cb_function *function)
{
    struct mpit_events_registration *one = (void *)registration;
    (void)info;
    one->callbacks[level] = function;
    one->data[level] = data;
    return MPI_SUCCESS;
}

int PMPI_T_event_set_dropped_handler(MPI_T_event_registration registration, MPI_T_event_dropped_cb_function *function)
{
    (void)registration, (void)function;
    return MPI_SUCCESS;
}

int PMPI_T_event_copy(MPI_T_event_instance instance, void *buffer)
{
    struct mpit_events_instance *one = (void *)instance;
    memcpy(buffer, one->payload, (size_t)types[one->type].bytes);
    return MPI_SUCCESS;
}

int PMPI_T_event_read(MPI_T_event_instance instance, int element, void *buffer)
{
    struct mpit_events_instance *one = (void *)instance;
    const struct type *type = &types[one->type];
    memcpy(buffer, (const char *)one->payload + type->offsets[element], (size_t)type->widths[element]);
    return MPI_SUCCESS;
}

int PMPI_T_event_get_timestamp(MPI_T_event_instance instance, MPI_Count *stamp)
{
    return *stamp = ((struct mpit_events_instance *)instance)->stamp, MPI_SUCCESS;
}

int PMPI_T_event_get_source(MPI_T_event_instance instance, int *source)
{
    return *source = ((struct mpit_events_instance *)instance)->type == RELEASED, MPI_SUCCESS;
}

int PMPI_T_source_get_num(int *number) { return *number = 2, MPI_SUCCESS; }

int PMPI_T_source_get_info(int index, char *name, int *name_len, char *desc, int *desc_len, MPI_T_source_order *ordering,
                           MPI_Count *ticks_per_second, MPI_Count *max_ticks, MPI_Info *info)
{
    text(index ? "ompi.unordered" : "ompi", name, name_len);
    text(index ? "events without order" : "events in order", desc, desc_len);
    *ordering = index ? MPI_T_SOURCE_UNORDERED : MPI_T_SOURCE_ORDERED;
    *ticks_per_second = 1000000000;
    *max_ticks = INT64_MAX;
    if (info)
        *info = MPI_INFO_NULL;
    return MPI_SUCCESS;
}

int PMPI_T_source_get_timestamp(int index, MPI_Count *stamp)
{
    if (index == 1)
        drain();
    return *stamp = now(), MPI_SUCCESS;
}

/* What nobody asks here. */
int PMPI_T_event_handle_set_info(MPI_T_event_registration r, MPI_Info i) { return (void)r, (void)i, MPI_SUCCESS; }
int PMPI_T_event_handle_get_info(MPI_T_event_registration r, MPI_Info *i) { return (void)r, *i = MPI_INFO_NULL, MPI_SUCCESS; }
int PMPI_T_event_callback_set_info(MPI_T_event_registration r, MPI_T_cb_safety s, MPI_Info i)
{
    return (void)r, (void)s, (void)i, MPI_SUCCESS;
}
int PMPI_T_event_callback_get_info(MPI_T_event_registration r, MPI_T_cb_safety s, MPI_Info *i)
{
    return (void)r, (void)s, *i = MPI_INFO_NULL, MPI_SUCCESS;
}
int PMPI_T_category_get_num_events(int category, int *number) { return (void)category, *number = 0, MPI_SUCCESS; }
int PMPI_T_category_get_events(int category, int room, int *indices)
{
    return (void)category, (void)room, (void)indices, MPI_SUCCESS;
}

/* Where the events happen. */

static struct { int32_t model, level, rank, size; uint64_t instance; } begun;

static void initialised(int code, int level)
{
    if (code)
        return;
    PMPI_Comm_rank(MPI_COMM_WORLD, &begun.rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &begun.size);
    begun.level = level;
    begun.instance = 0x6d70;
    raise_event(INITIALIZED, 0, &begun);
}

int MPI_Init(int *argc, char ***argv)
{
    int code = PMPI_Init(argc, argv), level = MPI_THREAD_SINGLE;
    PMPI_Query_thread(&level);
    initialised(code, level);
    return code;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    int code = PMPI_Init_thread(argc, argv, required, provided);
    initialised(code, *provided);
    return code;
}

int MPI_Finalize(void)
{
    struct { int32_t model, rank; uint64_t instance; } payload = {0, begun.rank, begun.instance};
    raise_event(FINALIZED, 0, &payload);
    for (int each = 0; each < MOST; each++)
        outlived += registrations[each].live && registrations[each].object;
    printf("registrations on objects in MPI_Finalize: %d\n", outlived);
    fflush(stdout);
    int code = PMPI_Finalize();
    /* What is still there is told where nobody calls MPI any more. */
    sink.count++, sink.bytes += 8192;
    drain();
    return code;
}

static uint64_t of_comm(MPI_Comm comm)
{
    uint64_t handle = 0;
    memcpy(&handle, &comm, sizeof comm);
    return handle;
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *made)
{
    struct { int32_t size; int32_t none; uint64_t handle; } payload = {0};
    int code = PMPI_Comm_dup(comm, made);
    if (!code) {
        PMPI_Comm_size(*made, &payload.size);
        payload.handle = of_comm(*made);
        raise_event(COMM_CREATED, 0, &payload);
    }
    return code;
}

int MPI_Comm_free(MPI_Comm *comm)
{
    uint64_t handle = of_comm(*comm);
    raise_event(COMM_FREED, 0, &handle);
    for (int each = 0; each < MOST; each++)
        outlived += registrations[each].live && registrations[each].object == handle;
    sink.count++, sink.bytes += 4096;
    return PMPI_Comm_free(comm);
}

int MPI_Comm_set_name(MPI_Comm comm, const char *name)
{
    int code = PMPI_Comm_set_name(comm, name);
    uint64_t handle = of_comm(comm);
    raise_event(COMM_NAMED, handle, &handle);
    return code;
}

int MPI_Win_create(void *base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, MPI_Win *win)
{
    struct { int64_t size; int32_t unit, flavor; uint64_t handle; } payload = {size, unit, MPI_WIN_FLAVOR_CREATE, 0};
    int code = PMPI_Win_create(base, size, unit, info, comm, win);
    memcpy(&payload.handle, win, sizeof *win);
    raise_event(WIN_CREATED, 0, &payload);
    return code;
}

int MPI_Win_free(MPI_Win *win)
{
    struct { int32_t flavor, none; uint64_t handle; } payload = {MPI_WIN_FLAVOR_CREATE, 0, 0};
    memcpy(&payload.handle, win, sizeof *win);
    raise_event(WIN_FREED, 0, &payload);
    return PMPI_Win_free(win);
}
