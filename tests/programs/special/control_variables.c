/* Lists all control variables; with "ours" it knows nothing of MEL but the beginning of its names, and reads and sets its variables:
 * what may be set changes and reads back, what may not is refused with the standard's answers. One process, or several.
 *
 * control_variables [ours]
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            printf("WRONG, line %d: %s\n", __LINE__, #condition); \
            failures++; \
        } \
    } while (0)

struct variable {
    MPI_T_cvar_handle handle;
    int index, count, scope, bind, verbosity;
    MPI_Datatype type;
    MPI_T_enum values;
};

static int describe(int index, char *name, int room, struct variable *variable)
{
    char text[4096];
    int text_len = sizeof text;
    variable->index = index;
    return MPI_T_cvar_get_info(index, name, &room, &variable->verbosity, &variable->type, &variable->values, text, &text_len,
                               &variable->bind, &variable->scope);
}

static struct variable open_variable(const char *name)
{
    struct variable found = { .index = -1 };
    char known[256];
    CHECK(MPI_T_cvar_get_index(name, &found.index) == MPI_SUCCESS);
    CHECK(describe(found.index, known, sizeof known, &found) == MPI_SUCCESS && !strcmp(known, name));
    CHECK(MPI_T_cvar_handle_alloc(found.index, NULL, &found.handle, &found.count) == MPI_SUCCESS);
    return found;
}

static void close_variable(struct variable *variable)
{
    MPI_T_cvar_handle freed = variable->handle;
    CHECK(MPI_T_cvar_handle_free(&variable->handle) == MPI_SUCCESS && variable->handle == MPI_T_CVAR_HANDLE_NULL);
    int value;
    CHECK(MPI_T_cvar_read(freed, &value) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_cvar_handle_free(&freed) == MPI_T_ERR_INVALID_HANDLE);
}

static void use_ours(void)
{
    struct variable recording = open_variable("mel_recording");
    CHECK(recording.scope == MPI_T_SCOPE_LOCAL && recording.bind == MPI_T_BIND_NO_OBJECT && recording.type == MPI_INT);
    CHECK(recording.verbosity == MPI_T_VERBOSITY_USER_BASIC && recording.count == 1);
    int items = 0, length = 64, value = -1;
    char name[64] = "";
    CHECK(MPI_T_enum_get_info(recording.values, &items, name, &length) == MPI_SUCCESS && items == 2);
    length = sizeof name;
    CHECK(MPI_T_enum_get_item(recording.values, 1, &value, name, &length) == MPI_SUCCESS && value == 1 && !strcmp(name, "on"));
    CHECK(MPI_T_enum_get_item(recording.values, 2, &value, name, &length) != MPI_SUCCESS);
    CHECK(MPI_T_cvar_read(recording.handle, &value) == MPI_SUCCESS && value == 1);
    for (int wanted = 0; wanted <= 1; wanted++) {
        CHECK(MPI_T_cvar_write(recording.handle, &wanted) == MPI_SUCCESS);
        CHECK(MPI_T_cvar_read(recording.handle, &value) == MPI_SUCCESS && value == wanted);
        /* Counted only while it is on. */
        for (int call = 0; call < 10; call++)
            MPI_Barrier(MPI_COMM_WORLD);
    }
    value = 7;
    CHECK(MPI_T_cvar_write(recording.handle, &value) == MPI_T_ERR_INVALID);
    CHECK(MPI_T_cvar_write(recording.handle, NULL) == MPI_ERR_ARG && MPI_T_cvar_read(recording.handle, NULL) == MPI_ERR_ARG);
    close_variable(&recording);

    struct variable interval = open_variable("mel_sampling_interval");
    unsigned long micros = 10;
    CHECK(interval.type == MPI_UNSIGNED_LONG && interval.values == MPI_T_ENUM_NULL);
    CHECK(MPI_T_cvar_write(interval.handle, &micros) == MPI_T_ERR_INVALID);
    micros = 2000;
    /* Nothing is sampled in this run. */
    CHECK(MPI_T_cvar_write(interval.handle, &micros) == MPI_T_ERR_CVAR_SET_NOT_NOW);
    close_variable(&interval);

    struct variable ring = open_variable("mel_envelope_ring_size");
    CHECK(ring.scope == MPI_T_SCOPE_CONSTANT);
    CHECK(MPI_T_cvar_read(ring.handle, &micros) == MPI_SUCCESS && micros > 0);
    CHECK(MPI_T_cvar_write(ring.handle, &micros) == MPI_T_ERR_CVAR_SET_NEVER);
    close_variable(&ring);

    struct variable profile = open_variable("mel_profile");
    char text[8192] = "";
    CHECK(profile.scope == MPI_T_SCOPE_READONLY && profile.type == MPI_CHAR && profile.count > 1 && profile.count < (int)sizeof text);
    CHECK(MPI_T_cvar_read(profile.handle, text) == MPI_SUCCESS && !strcmp(text, "calls,queues"));
    CHECK(MPI_T_cvar_write(profile.handle, text) == MPI_T_ERR_CVAR_SET_NEVER);
    close_variable(&profile);

    struct variable phase = open_variable("mel_phase");
    memset(text, 'x', sizeof text);
    CHECK(MPI_T_cvar_write(phase.handle, text) == MPI_T_ERR_INVALID);
    CHECK(MPI_T_cvar_write(phase.handle, "late") == MPI_SUCCESS);
    CHECK(MPI_T_cvar_read(phase.handle, text) == MPI_SUCCESS && !strcmp(text, "late"));
    for (int call = 0; call < 5; call++)
        MPI_Barrier(MPI_COMM_WORLD);
    close_variable(&phase);
    CHECK(MPI_T_cvar_get_index("mel_no_such", &value) == MPI_T_ERR_INVALID_NAME);
    MPI_T_cvar_handle null = MPI_T_CVAR_HANDLE_NULL;
    CHECK(MPI_T_cvar_handle_free(&null) == MPI_T_ERR_INVALID_HANDLE);
    struct variable none;
    CHECK(describe(1 << 30, text, sizeof text, &none) == MPI_T_ERR_INVALID_INDEX);
    CHECK(describe(-1, text, sizeof text, &none) == MPI_T_ERR_INVALID_INDEX);
}

int main(int argc, char **argv)
{
    int provided, number = -1;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Init(&argc, &argv);
    CHECK(MPI_T_cvar_get_num(&number) == MPI_SUCCESS && number >= 0);
    for (int index = 0; index < number; index++) {
        char name[1024];
        struct variable variable;
        int found = -1, code = describe(index, name, sizeof name, &variable);
        if (code != MPI_SUCCESS) {
            printf("variable - %d\n", code);
            continue;
        }
        printf("variable %s verbosity=%d bind=%d scope=%d enum=%d\n", name, variable.verbosity, variable.bind, variable.scope,
               variable.values != MPI_T_ENUM_NULL);
        if (MPI_T_cvar_get_index(name, &found) != MPI_SUCCESS || found > index)
            printf("WRONG: %s is found at %d and not at %d\n", name, found, index);
    }
    if (argc > 1 && !strcmp(argv[1], "ours"))
        use_ours();
    MPI_Finalize();
    /* Without MPI_T_finalize: Open MPI 4.1 crashes in it by itself when the interface was initialised before MPI. */
    return failures != 0;
}
