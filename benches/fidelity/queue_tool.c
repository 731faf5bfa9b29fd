/* A tool that listens to the queue events of both backends through MPI_T callbacks, and counts what `mel run` counts:
 * entries, lengths and lifetimes of both queues, and their searches. `make fidelity` preloads it before
 * libmpit_events.so with MPIT_SOURCES=peruse,model: so it sees what a tool of the user's would see.
 *
 * Each rank leaves QUEUE_TOOL_OUTPUT/rank-N.json, with the names that profile.json has. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpit_events.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POSTED, UNEXPECTED, QUEUES };
enum { INSERT, REMOVE, SEARCH, KINDS };
enum { BACKENDS = 2 };

/* The entries of a queue at one time, by their request: a power of two. */
enum { SLOTS = 1 << 16 };
struct entry {
    unsigned long long request; /* 0: no entry */
    MPI_Count inserted;
};

/* What one backend raised about one queue, over all communicators. Times are in ticks of the event source. An entry that was
 * there before we listened does not count. */
struct queue {
    long inserted, removed, length, longest, searches;
    double lifetimes;
    struct entry entries[SLOTS];
};
static struct queue queues[BACKENDS][QUEUES];

/* What a callback counts: which queue, what happened to it, and where the element "tag" is. */
struct listener {
    const char *event;
    int queue, kind, tag_element, backend;
};
static struct listener listeners[] = {
    {"posted_insert", POSTED, INSERT, 2, 0},        {"posted_remove", POSTED, REMOVE, 2, 0},
    {"unex_insert", UNEXPECTED, INSERT, 2, 0},      {"unex_remove", UNEXPECTED, REMOVE, 2, 0},
    {"search_posted_end", POSTED, SEARCH, 1, 0},    {"search_unexpected_end", UNEXPECTED, SEARCH, 2, 0},
    {"posted_insert", POSTED, INSERT, 2, 1},        {"posted_remove", POSTED, REMOVE, 2, 1},
    {"unex_insert", UNEXPECTED, INSERT, 2, 1},      {"unex_remove", UNEXPECTED, REMOVE, 2, 1},
    {"search_posted_end", POSTED, SEARCH, 1, 1},    {"search_unexpected_end", UNEXPECTED, SEARCH, 2, 1},
};
enum { LISTENERS = sizeof listeners / sizeof listeners[0] };
static const char *const prefixes[BACKENDS] = {"pml_ob1_", "model_pml_ob1_"};

static int rank, source;

/* The place of this request: where it is, or where it can be put. */
static struct entry *find(struct queue *queue, unsigned long long request)
{
    struct entry *free = NULL;
    for (unsigned long long i = request * 0x9e3779b97f4a7c15ull >> 48;; i++) {
        struct entry *entry = &queue->entries[i % SLOTS];
        if (entry->request == request && entry->inserted >= 0)
            return entry;
        if (!free && entry->inserted < 0)
            free = entry;
        if (entry->request == 0)
            return free ? free : entry;
    }
}

static void on_event(MPI_T_event_instance event, MPI_T_event_registration registration, MPI_T_cb_safety safety,
                     void *user_data)
{
    const struct listener *it = user_data;
    struct queue *queue = &queues[it->backend][it->queue];
    unsigned long long request = 0;
    MPI_Count time = 0;
    int tag = 0;
    (void)registration;
    (void)safety;
    MPI_T_event_read(event, it->tag_element, &tag);
    if (tag < -1)
        return; /* a message of MPI's own */
    if (it->kind == SEARCH) {
        queue->searches++;
        return;
    }
    MPI_T_event_get_source(event, &source);
    MPI_T_event_get_timestamp(event, &time);
    MPI_T_event_read(event, 0, &request);
    struct entry *entry = find(queue, request);
    if (it->kind == INSERT) {
        *entry = (struct entry){request, time};
        queue->inserted++;
        if (++queue->length > queue->longest)
            queue->longest = queue->length;
    } else if (entry->request == request && entry->inserted >= 0) {
        queue->removed++;
        queue->length--;
        queue->lifetimes += (double)(time - entry->inserted);
        entry->inserted = -1; /* the slot stays, so that those behind it are found */
    }
}

static void listen_on(MPI_Comm comm)
{
    if (comm == MPI_COMM_NULL)
        return;
    for (int i = 0; i < LISTENERS; i++) {
        MPI_T_event_registration registration;
        char name[64];
        int index;
        snprintf(name, sizeof name, "%s%s", prefixes[listeners[i].backend], listeners[i].event);
        if (MPI_T_event_get_index(name, &index) == MPI_SUCCESS &&
            MPI_T_event_handle_alloc(index, &comm, MPI_INFO_NULL, &registration) == MPI_SUCCESS)
            MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_THREAD_SAFE, MPI_INFO_NULL, &listeners[i],
                                          on_event);
    }
}

static void start(void)
{
    int provided;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided);
    listen_on(MPI_COMM_WORLD);
    listen_on(MPI_COMM_SELF);
}

static void write_backend(FILE *file, const struct queue *of, double rate)
{
    static const char *const names[QUEUES] = {"posted", "unexpected"};
    for (int i = 0; i < QUEUES; i++) {
        fprintf(file,
                "%s\"%s\": {\"messages\": %ld, \"max_length\": %ld, \"left\": %ld, \"total_s\": %.9f, \"max_s\": 0}, "
                "\"%s_search\": {\"searches\": %ld, \"total_s\": 0}",
                i ? ", " : "", names[i], of[i].inserted, of[i].longest, of[i].inserted - of[i].removed, of[i].lifetimes / rate, names[i],
                of[i].searches);
    }
}

static void finish(void)
{
    const char *directory = getenv("QUEUE_TOOL_OUTPUT");
    char path[4096];
    MPI_Count rate = 1;
    MPI_T_source_get_info(source, NULL, NULL, NULL, NULL, NULL, &rate, NULL, NULL);
    snprintf(path, sizeof path, "%s/rank-%d.json", directory ? directory : ".", rank);
    FILE *file = fopen(path, "w");
    if (!file)
        return;
    fprintf(file, "{");
    write_backend(file, queues[0], (double)rate);
    fprintf(file, ", \"comparison\": {");
    write_backend(file, queues[1], (double)rate);
    fprintf(file, "}}\n");
    fclose(file);
}

/* Calls what comes after this library: libmpit_events.so, which follows the call, and then MPI. */
#define NEXT(name, ...) ((int (*)())dlsym(RTLD_NEXT, name))(__VA_ARGS__)

int MPI_Init(int *argc, char ***argv)
{
    int code = NEXT("MPI_Init", argc, argv);
    if (code == MPI_SUCCESS)
        start();
    return code;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    int code = NEXT("MPI_Init_thread", argc, argv, required, provided);
    if (code == MPI_SUCCESS)
        start();
    return code;
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *newcomm)
{
    int code = NEXT("MPI_Comm_dup", comm, newcomm);
    if (code == MPI_SUCCESS)
        listen_on(*newcomm);
    return code;
}

int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *newcomm)
{
    int code = NEXT("MPI_Comm_split", comm, color, key, newcomm);
    if (code == MPI_SUCCESS)
        listen_on(*newcomm);
    return code;
}

int MPI_Cart_create(MPI_Comm comm, int ndims, const int dims[], const int periods[], int reorder, MPI_Comm *newcomm)
{
    int code = NEXT("MPI_Cart_create", comm, ndims, dims, periods, reorder, newcomm);
    if (code == MPI_SUCCESS)
        listen_on(*newcomm);
    return code;
}

int MPI_Finalize(void)
{
    finish();
    return NEXT("MPI_Finalize");
}
