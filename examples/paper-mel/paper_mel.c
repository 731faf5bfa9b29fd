/* MEL as the paper describes it (section 5.2), in the paper's own interface: a library that is preloaded
 * into an MPI program. The event types that MEL_EVENTS names are logged on MPI_COMM_WORLD, without
 * knowing any of them; where it names none, all that there are are listed.
 *
 * See README.md for how to build and run it. */
#define MPIT_EVENTS_PROPOSAL
#include <mpit_events.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TYPES 128
#define MAX_ELEMENTS 8
#define MAX_BYTES 64
#define MAX_LOGGED 4096
#define MAX_SHOWN 3

/* An event type: its description by the interface, and what was heard of it. */
struct type {
    char name[64], description[128];
    char elements[MAX_ELEMENTS][32];
    MPI_Datatype datatypes[MAX_ELEMENTS];
    MPI_Aint displacements[MAX_ELEMENTS], extent;
    int num_elements, bind;
    MPI_T_event_registration registration;
    atomic_long heard, lost, freed;
};

/* One event, as it was copied. */
struct logged {
    struct type *type;
    int source;
    MPI_Count timestamp;
    unsigned char data[MAX_BYTES];
};

static struct type types[MAX_TYPES];
static int num_types, rank;
static struct logged heard_events[MAX_LOGGED];
static atomic_int num_events_logged;

static int check(int code, const char *what)
{
    if (code != MPI_SUCCESS)
        fprintf(stderr, "[paper-mel] rank %d: %s gave error %d\n", rank, what, code);
    return code == MPI_SUCCESS;
}
#define CHECK(call) check(call, #call)

/* Copies the event, to be read later. The interface says in cb_safety what is allowed here; this
 * is allowed always, in signal handlers too. */
static void on_event(MPI_T_event_instance event, MPI_T_event_registration event_registration,
                     MPI_T_event_cb_safety cb_safety, void *user_data)
{
    struct type *type = user_data;
    (void)event_registration, (void)cb_safety;
    atomic_fetch_add(&type->heard, 1);
    if (atomic_load(&num_events_logged) >= MAX_LOGGED)
        return;
    int place = atomic_fetch_add(&num_events_logged, 1);
    if (place >= MAX_LOGGED)
        return;
    struct logged *logged = &heard_events[place];
    MPI_T_event_copy(event, logged->data, sizeof logged->data);
    MPI_T_event_get_timestamp(event, &logged->timestamp);
    MPI_T_event_get_source(event, &logged->source);
    logged->type = type;
}

static void on_dropped(int count, MPI_T_event_registration event_registration,
                       MPI_T_event_cb_safety cb_safety, void *user_data)
{
    struct type *type = user_data;
    (void)event_registration, (void)cb_safety;
    atomic_fetch_add(&type->lost, count);
}

static void on_free(MPI_T_event_registration event_registration, MPI_T_event_cb_safety cb_safety,
                    void *user_data)
{
    struct type *type = user_data;
    (void)event_registration, (void)cb_safety;
    atomic_fetch_add(&type->freed, 1);
}

/* The whole description of an event type (the paper, section 3.1). */
static void query(int index, struct type *type)
{
    int name_len = sizeof type->name, description_len = sizeof type->description, verbosity;
    MPI_T_enum names = MPI_T_ENUM_NULL;
    type->num_elements = MAX_ELEMENTS;
    CHECK(MPI_T_event_get_info(index, type->name, &name_len, &verbosity, type->datatypes, type->displacements,
                               &type->num_elements, &names, &type->extent, type->description, &description_len,
                               &type->bind));
    if (type->num_elements > MAX_ELEMENTS)
        type->num_elements = MAX_ELEMENTS;
    for (int i = 0; i < type->num_elements && names != MPI_T_ENUM_NULL; i++) {
        int value, length = sizeof type->elements[i];
        CHECK(MPI_T_enum_get_item(names, i, &value, type->elements[i], &length));
    }
}

/* Whether the list in MEL_EVENTS, with commas, colons, semicolons or spaces between, has the name. */
static int is_wanted(const char *name)
{
    const char *list = getenv("MEL_EVENTS");
    size_t length = strlen(name);
    while (list != NULL && *list != '\0') {
        size_t item = strcspn(list, ",:; ");
        if (item == length && strncmp(list, name, length) == 0)
            return 1;
        list += item + (list[item] != '\0');
    }
    return 0;
}

static void start(void)
{
    int provided;
    MPI_Comm world = MPI_COMM_WORLD;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!CHECK(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided)) || !CHECK(MPI_T_event_get_num(&num_types)))
        return;
    if (num_types > MAX_TYPES)
        num_types = MAX_TYPES;
    for (int i = 0; i < num_types; i++) {
        struct type *type = &types[i];
        query(i, type);
        /* Types that are bound to other objects would want handles for those. */
        int can_be_heard = type->bind == MPI_T_BIND_NO_OBJECT || type->bind == MPI_T_BIND_MPI_COMM;
        if (can_be_heard && type->extent <= MAX_BYTES && is_wanted(type->name) &&
            CHECK(MPI_T_event_handle_alloc(i, &world, type, on_event, &type->registration)))
            CHECK(MPI_T_event_set_dropped_handler(type->registration, on_dropped));
    }
}

static void list_types(void)
{
    printf("[paper-mel] MEL_EVENTS is not set; there are %d event types:\n", num_types);
    for (int i = 0; i < num_types; i++) {
        printf("[paper-mel]   %s (%ld bytes:", types[i].name, (long)types[i].extent);
        for (int j = 0; j < types[i].num_elements; j++)
            printf("%s %s", j == 0 ? "" : ",", types[i].elements[j]);
        printf("): %s\n", types[i].description);
    }
}

/* "[ 0.002151416] 'pml_ob1_message_arrived' context id=0 source=0 tag=201 sequence number=10" */
static void show(const struct logged *logged)
{
    const struct type *type = logged->type;
    MPI_T_source_order ordering;
    MPI_Count ticks_per_second = 1;
    CHECK(MPI_T_source_get_info(logged->source, NULL, NULL, &ordering, &ticks_per_second));
    printf("[paper-mel] rank %d: [ %.9f] '%s'", rank, (double)logged->timestamp / (double)ticks_per_second,
           type->name);
    for (int i = 0; i < type->num_elements; i++) {
        const unsigned char *data = logged->data + type->displacements[i];
        unsigned long long wide = 0;
        int number = 0;
        if (type->datatypes[i] == MPI_UNSIGNED_LONG_LONG)
            printf(" %s=%llu", type->elements[i], *(unsigned long long *)memcpy(&wide, data, sizeof wide));
        else if (type->datatypes[i] == MPI_INT || type->datatypes[i] == MPI_UNSIGNED)
            printf(" %s=%d", type->elements[i], *(int *)memcpy(&number, data, sizeof number));
    }
    printf("\n");
}

static void finish(void)
{
    int registrations = 0, length = atomic_load(&num_events_logged);
    for (int i = 0; i < num_types; i++)
        if (types[i].registration != NULL) {
            registrations++;
            CHECK(MPI_T_event_handle_free(types[i].registration, on_free));
        }
    if (registrations == 0 && rank == 0)
        list_types();
    if (registrations > 0)
        printf("[paper-mel] rank %d: %-32s %8s %8s\n", rank, "event", "heard", "lost");
    for (int i = 0; i < num_types; i++)
        if (types[i].registration != NULL) {
            int shown = 0;
            printf("[paper-mel] rank %d: %-32s %8ld %8ld%s\n", rank, types[i].name, atomic_load(&types[i].heard),
                   atomic_load(&types[i].lost), atomic_load(&types[i].freed) == 1 ? "" : "  (not free)");
            for (int j = 0; j < length && j < MAX_LOGGED && shown < MAX_SHOWN; j++)
                if (heard_events[j].type == &types[i]) {
                    show(&heard_events[j]);
                    shown++;
                }
        }
    fflush(stdout);
    CHECK(MPI_T_finalize());
}

int MPI_Init(int *argc, char ***argv)
{
    int code = PMPI_Init(argc, argv);
    if (code == MPI_SUCCESS)
        start();
    return code;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    int code = PMPI_Init_thread(argc, argv, required, provided);
    if (code == MPI_SUCCESS)
        start();
    return code;
}

int MPI_Finalize(void)
{
    finish();
    return PMPI_Finalize();
}
