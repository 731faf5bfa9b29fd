/* A tool that listens to the sixteen events of the message queues by callbacks that do nothing, as in Figure 1 of the paper on
 * MPI_T events. LISTEN=no: it initialises MPI_T, and registers no callback.
 *
 * Preloaded before libmpit_events.so. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpit_events.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void nothing(MPI_T_event_instance event, MPI_T_event_registration registration, MPI_T_cb_safety safety, void *user_data)
{
    (void)event, (void)registration, (void)safety, (void)user_data;
}

/* Registers a callback for each event of the queues on this communicator; gives how many there are. */
static int listen_on(MPI_Comm comm)
{
    int types = 0, listening = 0;
    MPI_T_event_get_num(&types);
    for (int i = 0; i < types; i++) {
        char name[64] = "";
        int length = sizeof name, verbosity, elements, bind;
        MPI_T_enum enumeration;
        MPI_Info info;
        MPI_T_event_registration registration;
        MPI_T_event_get_info(i, name, &length, &verbosity, NULL, NULL, &elements, &enumeration, &info, NULL, NULL, &bind);
        if (strncmp(name, "pml_ob1_", 8) == 0 &&
            MPI_T_event_handle_alloc(i, &comm, MPI_INFO_NULL, &registration) == MPI_SUCCESS &&
            MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_MPI_RESTRICTED, MPI_INFO_NULL, NULL, nothing) ==
                MPI_SUCCESS)
            listening++;
    }
    return listening;
}

/* Calls what comes after this library: libmpit_events.so, which follows the call, and then MPI. */
#define NEXT(name, ...) ((int (*)())dlsym(RTLD_NEXT, name))(__VA_ARGS__)

static int start(int code)
{
    const char *listen = getenv("LISTEN");
    int provided, registered = 0;
    if (code != MPI_SUCCESS)
        return code;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    if (!listen || strcmp(listen, "no"))
        registered = listen_on(MPI_COMM_WORLD);
    fprintf(stderr, "listens to %d events\n", registered);
    return code;
}

int MPI_Init(int *argc, char ***argv)
{
    return start(NEXT("MPI_Init", argc, argv));
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    return start(NEXT("MPI_Init_thread", argc, argv, required, provided));
}
