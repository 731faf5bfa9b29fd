/* A tool that is preloaded into an MPI program: it lists the event types that there are, listens on
 * MPI_COMM_WORLD to messages that arrive and to receives that are queued, and prints at the end what
 * it heard. It knows the standard's interface only, and no name of an element.
 *
 * See README.md for how to build and run it. */
#include <mpit_events.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ELEMENTS 8
#define MAX_SHOWN 3

/* What is known of an event type, and what was heard of it. */
struct listener {
    const char *event;
    MPI_T_event_registration registration;
    int num_elements;
    MPI_Datatype datatypes[MAX_ELEMENTS];
    MPI_Aint displacements[MAX_ELEMENTS];
    char names[MAX_ELEMENTS][32];
    atomic_long heard;
    atomic_long lost;
    int source;
    MPI_Count first, last;
    char shown[MAX_SHOWN][256];
};

static struct listener listeners[] = {
    {.event = "pml_ob1_message_arrived"},
    {.event = "pml_ob1_posted_insert"},
};
#define NUM_LISTENERS (sizeof listeners / sizeof listeners[0])

static int rank;

static void check(int code, const char *what)
{
    if (code != MPI_SUCCESS)
        fprintf(stderr, "[event_logger] rank %d: %s gave error %d\n", rank, what, code);
}

/* "source=1 tag=7": the elements of an event by their names, as text. Callbacks run inside MPI, so
 * nothing here may call MPI but for MPI_T. */
static void show(const struct listener *it, MPI_T_event_instance event, char *text, size_t room)
{
    text[0] = '\0';
    for (int i = 0; i < it->num_elements; i++) {
        unsigned long long wide = 0;
        int number = 0;
        size_t used = strlen(text);
        if (it->datatypes[i] == MPI_UNSIGNED_LONG_LONG) {
            MPI_T_event_read(event, i, &wide);
            snprintf(text + used, room - used, " %s=%#llx", it->names[i], wide);
        } else {
            MPI_T_event_read(event, i, &number);
            snprintf(text + used, room - used, " %s=%d", it->names[i], number);
        }
    }
}

static void on_event(MPI_T_event_instance event, MPI_T_event_registration registration,
                     MPI_T_cb_safety cb_safety, void *user_data)
{
    struct listener *it = user_data;
    long before = atomic_fetch_add(&it->heard, 1);
    (void)registration;
    (void)cb_safety;
    if (before < MAX_SHOWN)
        show(it, event, it->shown[before], sizeof it->shown[before]);
    MPI_T_event_get_source(event, &it->source);
    MPI_T_event_get_timestamp(event, before == 0 ? &it->first : &it->last);
}

static void on_dropped(MPI_Count count, MPI_T_event_registration registration, int source_index,
                       MPI_T_cb_safety cb_safety, void *user_data)
{
    (void)source_index;
    (void)cb_safety;
    (void)user_data;
    for (size_t i = 0; i < NUM_LISTENERS; i++)
        if (listeners[i].registration == registration)
            atomic_fetch_add(&listeners[i].lost, (long)count);
}

static void list_event_types(void)
{
    int num = 0;
    check(MPI_T_event_get_num(&num), "MPI_T_event_get_num");
    printf("[event_logger] %d event types\n", num);
    for (int i = 0; i < num; i++) {
        char name[64], desc[128];
        int name_len = sizeof name, desc_len = sizeof desc, elements = 0;
        check(MPI_T_event_get_info(i, name, &name_len, NULL, NULL, NULL, &elements, NULL, NULL, desc,
                                   &desc_len, NULL),
              "MPI_T_event_get_info");
        printf("[event_logger]   %-32s %d elements  %s\n", name, elements, desc);
    }
}

static void listen(struct listener *it)
{
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_T_enum names = MPI_T_ENUM_NULL;
    int index = 0;
    if (MPI_T_event_get_index(it->event, &index) != MPI_SUCCESS)
        return;
    it->num_elements = MAX_ELEMENTS;
    check(MPI_T_event_get_info(index, NULL, NULL, NULL, it->datatypes, it->displacements,
                               &it->num_elements, &names, NULL, NULL, NULL, NULL),
          "MPI_T_event_get_info");
    if (it->num_elements > MAX_ELEMENTS)
        it->num_elements = MAX_ELEMENTS;
    for (int i = 0; i < it->num_elements && names != MPI_T_ENUM_NULL; i++) {
        int value, length = sizeof it->names[i];
        check(MPI_T_enum_get_item(names, i, &value, it->names[i], &length), "MPI_T_enum_get_item");
    }
    check(MPI_T_event_handle_alloc(index, &world, MPI_INFO_NULL, &it->registration),
          "MPI_T_event_handle_alloc");
    check(MPI_T_event_set_dropped_handler(it->registration, on_dropped), "MPI_T_event_set_dropped_handler");
    /* At this level the callback is good for every event that is not raised in a signal handler. */
    check(MPI_T_event_register_callback(it->registration, MPI_T_CB_REQUIRE_THREAD_SAFE, MPI_INFO_NULL, it,
                                        on_event),
          "MPI_T_event_register_callback");
}

static void start(void)
{
    int provided;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    check(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided), "MPI_T_init_thread");
    if (rank == 0)
        list_event_types();
    for (size_t i = 0; i < NUM_LISTENERS; i++)
        listen(&listeners[i]);
    fflush(stdout);
}

static void finish(void)
{
    for (size_t i = 0; i < NUM_LISTENERS; i++) {
        struct listener *it = &listeners[i];
        MPI_Count rate = 0;
        if (it->registration == NULL)
            continue;
        check(MPI_T_source_get_info(it->source, NULL, NULL, NULL, NULL, NULL, &rate, NULL, NULL),
              "MPI_T_source_get_info");
        check(MPI_T_event_handle_free(it->registration, NULL, NULL), "MPI_T_event_handle_free");
        long heard = atomic_load(&it->heard);
        double span = heard > 1 && rate > 0 ? 1e6 * (double)(it->last - it->first) / (double)rate : 0;
        printf("[event_logger] rank %d: %s: %ld events in %.1f us, %ld lost\n", rank, it->event, heard, span,
               atomic_load(&it->lost));
        for (long shown = 0; shown < heard && shown < MAX_SHOWN; shown++)
            printf("[event_logger] rank %d:  %s\n", rank, it->shown[shown]);
    }
    fflush(stdout);
    check(MPI_T_finalize(), "MPI_T_finalize");
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
