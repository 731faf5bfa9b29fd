/* Lists all performance variables, and uses those that are bound to nothing in a session of their own; prints what each function
 * answers, but for values. With "early" it asks how many there are before MPI_Init, too. What is printed of the MPI's own is the same
 * without and with MEL. Variables of Open MPI's MTL are left alone: some crash. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 4096

static MPI_T_pvar_handle handles[MOST];
static char names[MOST][256];

int main(int argc, char **argv)
{
    int provided, number, allocated = 0;
    MPI_T_pvar_session session;
    static long long values[1 << 16];
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    if (argc > 1 && !strcmp(argv[1], "early")) {
        int before, after;
        MPI_T_pvar_get_num(&before);
        MPI_Init(&argc, &argv);
        MPI_T_pvar_get_num(&after);
        if (after < before)
            puts("WRONG: there are fewer than before");
    } else {
        MPI_Init(&argc, &argv);
    }
    MPI_T_pvar_get_num(&number);
    printf("session_create %d\n", MPI_T_pvar_session_create(&session));
    for (int i = 0; i < number && i < MOST; i++) {
        char desc[4096];
        int name_len = sizeof names[i], desc_len = sizeof desc, verbosity, class, bind, readonly, continuous, atomic, index = -1;
        MPI_Datatype datatype;
        MPI_T_enum enumtype;
        int code = MPI_T_pvar_get_info(i, names[i], &name_len, &verbosity, &class, &datatype, &enumtype, desc, &desc_len, &bind,
                                       &readonly, &continuous, &atomic);
        if (code != MPI_SUCCESS) {
            printf("variable - %d\n", code);
            continue;
        }
        printf("variable %s class=%d verbosity=%d bind=%d readonly=%d continuous=%d atomic=%d desc=%d\n", names[i], class, verbosity,
               bind, readonly, continuous, atomic, (int)strlen(desc));
        /* Two may have one name and class: then the first is meant. */
        if (MPI_T_pvar_get_index(names[i], class, &index) != MPI_SUCCESS || index > i || strcmp(names[index], names[i]))
            printf("WRONG: %s is found at %d and not at %d\n", names[i], index, i);
        if (bind == MPI_T_BIND_NO_OBJECT && strncmp(names[i], "mtl_", 4) && strcmp(names[i], "pml_monitoring_flush")) {
            int count = -1;
            code = MPI_T_pvar_handle_alloc(session, i, NULL, &handles[allocated], &count);
            printf("of %s alloc=%d count=%d", names[i], code, count);
            if (code == MPI_SUCCESS) {
                MPI_T_pvar_handle handle = handles[allocated++];
                int start = MPI_T_pvar_start(session, handle);
                int read = MPI_T_pvar_read(session, handle, values);
                int reset = MPI_T_pvar_reset(session, handle);
                int stop = MPI_T_pvar_stop(session, handle);
                printf(" start=%d read=%d reset=%d stop=%d", start, read, reset, stop);
            }
            printf("\n");
        }
    }
    if (allocated > 0) {
        int start = MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES);
        int stop = MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES);
        printf("all start=%d stop=%d reset=%d\n", start, stop, MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES));
        printf("free %d", MPI_T_pvar_handle_free(session, &handles[0]));
        printf(" null=%d\n", handles[0] == MPI_T_PVAR_HANDLE_NULL);
    }
    printf("session_free %d", MPI_T_pvar_session_free(&session));
    printf(" null=%d\n", session == MPI_T_PVAR_SESSION_NULL);
    MPI_Finalize();
    /* Without MPI_T_finalize: Open MPI 4.1 crashes in it by itself when the interface was initialised before MPI. */
    return 0;
}
