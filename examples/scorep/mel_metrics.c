/* A metric plugin of Score-P: it records performance variables of MPI_T, MEL's own among them, as metrics.
 *
 * Score-P loads it as libmel_metrics.so where SCOREP_METRIC_PLUGINS names `mel_metrics`, and reads each variable at the
 * events of its processes. A variable that is bound to a communicator is read for MPI_COMM_WORLD; one that is bound to
 * anything else, or is a list, is left out. Nothing here needs MEL to be compiled: it reads whatever the MPI has.
 *
 * See README.md for how to build and use it. */
#include <fnmatch.h>
#include <mpi.h>
#include <scorep/SCOREP_MetricPlugins.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MOST 256
#define TEXT 512

/* A variable that is recorded. */
struct metric {
    char name[TEXT];
    int index;
    int bind;
    MPI_Datatype datatype;
    bool is_open;
    bool is_refused;
    MPI_T_pvar_handle handle;
};

static struct metric metrics[MOST];
static int known;
static bool is_initialised;
static MPI_T_pvar_session session;

static int32_t begin(void)
{
    int provided = 0;
    is_initialised = MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided) == MPI_SUCCESS &&
                     MPI_T_pvar_session_create(&session) == MPI_SUCCESS;
    return is_initialised ? 0 : 1;
}

static void end(void)
{
    if (!is_initialised)
        return;
    for (int i = 0; i < known; i++)
        if (metrics[i].is_open)
            MPI_T_pvar_handle_free(session, &metrics[i].handle);
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
    is_initialised = false;
}

/* Whether a value of this type is one number that fits a metric. */
static bool is_number(MPI_Datatype datatype)
{
    return datatype == MPI_UNSIGNED_LONG || datatype == MPI_UNSIGNED_LONG_LONG || datatype == MPI_UNSIGNED ||
           datatype == MPI_INT || datatype == MPI_DOUBLE;
}

/* What variables of a class do: those that count up are given to Score-P as what was added since the begin. */
static SCOREP_MetricMode mode_of(int class)
{
    bool counts = class == MPI_T_PVAR_CLASS_COUNTER || class == MPI_T_PVAR_CLASS_AGGREGATE ||
                  class == MPI_T_PVAR_CLASS_TIMER;
    return counts ? SCOREP_METRIC_MODE_ACCUMULATED_START : SCOREP_METRIC_MODE_ABSOLUTE_POINT;
}

/* The properties of the variables whose names match the pattern `token`, such as `mel_*`; the last has no name. */
static SCOREP_Metric_Plugin_MetricProperties *find(char *token)
{
    int count = 0, found = 0;
    if (!is_initialised || MPI_T_pvar_get_num(&count) != MPI_SUCCESS)
        return NULL;
    SCOREP_Metric_Plugin_MetricProperties *all = calloc((size_t)count + 1, sizeof *all);
    if (all == NULL)
        return NULL;
    for (int index = 0; index < count && known < MOST; index++) {
        char name[TEXT], description[TEXT];
        int name_length = TEXT, length = TEXT, verbosity, class, bind, readonly, continuous, atomic;
        MPI_Datatype datatype;
        MPI_T_enum values;
        int code = MPI_T_pvar_get_info(index, name, &name_length, &verbosity, &class, &datatype, &values, description,
                                       &length, &bind, &readonly, &continuous, &atomic);
        bool is_bound = bind == MPI_T_BIND_NO_OBJECT || bind == MPI_T_BIND_MPI_COMM;
        bool is_known = false;
        for (int i = 0; i < known; i++)
            is_known = is_known || strcmp(metrics[i].name, name) == 0;
        if (code != MPI_SUCCESS || is_known || !is_number(datatype) || !is_bound || fnmatch(token, name, 0) != 0)
            continue;
        /* Of others' timers MPI_T does not say what they count. */
        bool is_in_nanoseconds = class == MPI_T_PVAR_CLASS_TIMER && strncmp(name, "mel_", 4) == 0;
        struct metric *metric = &metrics[known++];
        strncpy(metric->name, name, TEXT - 1);
        metric->index = index;
        metric->bind = bind;
        metric->datatype = datatype;
        all[found].name = strdup(name);
        all[found].description = strdup(description);
        all[found].mode = mode_of(class);
        all[found].value_type = datatype == MPI_DOUBLE ? SCOREP_METRIC_VALUE_DOUBLE : SCOREP_METRIC_VALUE_UINT64;
        all[found].base = SCOREP_METRIC_BASE_DECIMAL;
        all[found].exponent = is_in_nanoseconds ? -9 : 0;
        all[found].unit = strdup(is_in_nanoseconds ? "s" : "#");
        found++;
    }
    return all;
}

static int32_t add(char *name)
{
    for (int i = 0; i < known; i++)
        if (strcmp(metrics[i].name, name) == 0)
            return i;
    return -1;
}

/* A handle for one value, which counts; one that is bound to a communicator there is while MPI is initialised. */
static bool open_handle(struct metric *metric)
{
    MPI_Comm world = MPI_COMM_WORLD;
    int count = 0, is_up = 0, is_over = 0;
    if (metric->bind == MPI_T_BIND_MPI_COMM) {
        MPI_Initialized(&is_up);
        MPI_Finalized(&is_over);
        if (!is_up || is_over)
            return false;
    }
    void *object = metric->bind == MPI_T_BIND_MPI_COMM ? (void *)&world : NULL;
    if (MPI_T_pvar_handle_alloc(session, metric->index, object, &metric->handle, &count) != MPI_SUCCESS) {
        metric->is_refused = true;
        return false;
    }
    metric->is_open = true;
    /* Of one that always counts this is an error, which does no harm. */
    MPI_T_pvar_start(session, metric->handle);
    metric->is_refused = count != 1;
    return !metric->is_refused;
}

static bool read_value(int32_t id, uint64_t *value)
{
    if (!is_initialised || id < 0 || id >= known)
        return false;
    struct metric *metric = &metrics[id];
    if (metric->is_refused || (!metric->is_open && !open_handle(metric)))
        return false;
    union {
        unsigned long wide;
        unsigned long long longest;
        unsigned narrow;
        int number;
        double real;
        uint64_t bits;
    } read = {.bits = 0};
    if (MPI_T_pvar_read(session, metric->handle, &read) != MPI_SUCCESS)
        return false;
    *value = metric->datatype == MPI_INT ? (uint64_t)read.number : read.bits;
    return true;
}

SCOREP_METRIC_PLUGIN_ENTRY(mel_metrics)
{
    SCOREP_Metric_Plugin_Info info;
    memset(&info, 0, sizeof info);
    info.plugin_version = SCOREP_METRIC_PLUGIN_VERSION;
    info.run_per = SCOREP_METRIC_PER_PROCESS;
    info.sync = SCOREP_METRIC_SYNC;
    info.initialize = begin;
    info.finalize = end;
    info.get_event_info = find;
    info.add_counter = add;
    info.get_optional_value = read_value;
    return info;
}
