/* Loads a metric plugin as Score-P does, sends messages from rank 0 to rank 1, and prints what the metrics say.
 *
 *   host PLUGIN PATTERN     on two ranks */
#include <dlfcn.h>
#include <inttypes.h>
#include <mpi.h>
#include <scorep/SCOREP_MetricPlugins.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST 64
#define MESSAGES 5

int main(int argc, char **argv)
{
    void *plugin = argc > 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
    if (plugin == NULL) {
        fprintf(stderr, "no plugin: %s\n", argc > 2 ? dlerror() : "host PLUGIN PATTERN");
        return 1;
    }
    SCOREP_Metric_Plugin_Info (*get_info)(void);
    *(void **)&get_info = dlsym(plugin, "SCOREP_MetricPlugin_mel_metrics_get_info");
    SCOREP_Metric_Plugin_Info info = get_info();
    if (info.plugin_version != SCOREP_METRIC_PLUGIN_VERSION || info.initialize() != 0)
        return 2;
    SCOREP_Metric_Plugin_MetricProperties *all = info.get_event_info(argv[2]);
    int32_t ids[MOST], count = 0;
    for (; all != NULL && all[count].name != NULL && count < MOST; count++)
        ids[count] = info.add_counter(all[count].name);

    int rank;
    uint64_t value;
    /* Nothing that is bound to a communicator is there yet. */
    for (int i = 0; i < count; i++)
        info.get_optional_value(ids[i], &value);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    /* Handles count from their first reading on. */
    for (int i = 0; i < count; i++)
        info.get_optional_value(ids[i], &value);
    char data[100] = {0};
    for (int i = 0; i < MESSAGES; i++)
        if (rank == 0)
            MPI_Send(data, sizeof data, MPI_CHAR, 1, 7, MPI_COMM_WORLD);
        else
            MPI_Recv(data, sizeof data, MPI_CHAR, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < count; i++)
        if (info.get_optional_value(ids[i], &value))
            printf("%d %s %s %" PRIu64 "\n", rank, all[i].mode == SCOREP_METRIC_MODE_ACCUMULATED_START ? "counts" : "is",
                   all[i].name, value);
    MPI_Barrier(MPI_COMM_WORLD);
    info.finalize();
    MPI_Finalize();
    for (int i = 0; i < count; i++) {
        free(all[i].name);
        free(all[i].description);
        free(all[i].unit);
    }
    free(all);
    return 0;
}
