/**
 * @file
 * Plugins of MEL: shared objects that are told what MEL sees in a process while it runs, and that advise, or set control variables.
 *
 *     #include <mel_plugin.h>
 *
 *     static void sampled(void *data, const struct mel_plugin_sample *sample) { ... }
 *
 *     int mel_plugin_init(const struct mel_plugin_services *mel, struct mel_plugin_callbacks *callbacks, int argc, char **argv)
 *     {
 *         callbacks->version = MEL_PLUGIN_VERSION;
 *         callbacks->size = sizeof *callbacks;
 *         callbacks->variables = "mel_unexpected_queue_length";
 *         callbacks->atomic_event_trigger = sampled;
 *         return 0;
 *     }
 *
 *     cc -shared -fPIC -o libwatch.so watch.c
 *     mpirun -n 4 mel run --plugin ./libwatch.so ./app
 *
 * **Threads.** `mel_plugin_init` runs in `MPI_Init*`, on the thread that calls it. All callbacks run on one thread of MEL's, one after the
 * other, never inside an MPI call of the program, and so at a time of their own: up to one sampling interval later than what they tell of.
 * MPI must not be called there, nor in `mel_plugin_init`. The services may be called there, and by no other thread. The program never waits
 * for a callback, but in `MPI_Finalize`, `MPI_Abort` and `exit`: at most five seconds for what is still to be told and for
 * `end_of_execution`. A plugin that has not returned then is left alone, and a line says so.
 *
 * Strings are UTF-8 and end with a zero. What a callback is given is there until it returns. `docs/plugins.md` has more.
 */
#ifndef MEL_PLUGIN_H
#define MEL_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The version of this interface. */
#define MEL_PLUGIN_VERSION 1

/**
 * FUNCTION_REGISTRATION: an MPI function is called for the first time in this process, or a phase, or a region (with `mel run --attribute`),
 * begins for the first time.
 */
struct mel_plugin_function {
    /** `MPI_Send`; the name of the phase; the path of the region. */
    const char *name;
    /** One of the three below. */
    int32_t kind;
};
#define MEL_PLUGIN_MPI_FUNCTION 0
#define MEL_PLUGIN_PHASE 1
#define MEL_PLUGIN_REGION 2

/** ATOMIC_EVENT_REGISTRATION: a performance variable on one object was taken up by the sampler. */
struct mel_plugin_variable {
    /** Its number in this process. */
    uint32_t number;
    /** Whether it is one of the MPI's own: 0 for those of MEL. */
    int32_t of_mpi;
    /** Its name, such as `mel_unexpected_queue_length`. */
    const char *name;
    const char *description;
    /** Its class: `counter`, `level`, `timer`, ... */
    const char *class_name;
    /** The communicator or window that it is read for: `MPI_COMM_WORLD`, or its name; empty where it is bound to nothing. */
    const char *object;
};

/** ATOMIC_EVENT_TRIGGER: such a variable was read. */
struct mel_plugin_sample {
    const struct mel_plugin_variable *variable;
    /** When it was read: seconds since MPI_Init* was called. */
    double time;
    /** The only value, or the sum of all elements. */
    double value;
    /** Of arrays of 2 to 16 elements that are bound to nothing or to MPI_COMM_WORLD: so many, and each. Else 0 and a null pointer. */
    uint64_t count;
    const double *elements;
};

/** INTERRUPT_TRIGGER: the sampling interval (`mel run --every`) has passed. What was sampled until then was told before. */
struct mel_plugin_interrupt {
    /** Seconds since MPI_Init* was called. */
    double time;
    /** The how many-th interval, from 1. */
    uint64_t number;
};

/** END_OF_EXECUTION: what is measured has ended, and is written after this. */
struct mel_plugin_end {
    /** Seconds since MPI_Init* was called. */
    double time;
    /** MEL_PLUGIN_FINALIZED, MEL_PLUGIN_ABORTED (MPI_Abort) or MEL_PLUGIN_EXITED (exit without MPI_Finalize). */
    int32_t how;
};
#define MEL_PLUGIN_FINALIZED 0
#define MEL_PLUGIN_ABORTED 1
#define MEL_PLUGIN_EXITED 2

/** What has become of a control variable that this plugin has set. */
struct mel_plugin_control {
    const char *name;
    /** The value that was asked for. */
    const char *value;
    /** What it reads back as, where it has that value; else empty, and `outcome` says more. */
    const char *read_back;
    /** 1: it has the value. 0: it has not. */
    int32_t has_value;
    /** A sentence for users. */
    const char *outcome;
};

/** What the calls of one MPI function were in this process until now. */
struct mel_plugin_calls {
    uint64_t calls;
    /** Bytes sent and received by them. */
    uint64_t bytes_sent, bytes_received;
    /** Time in them: observed. */
    double seconds;
    /** Time since MPI_Init* has returned, for shares. */
    double run_seconds;
};

/** What MEL does for a plugin. `plugin` is that of the structure. */
struct mel_plugin_services {
    size_t size;
    uint32_t version;
    /** In MPI_COMM_WORLD. */
    int32_t rank;
    int32_t ranks;
    void *plugin;
    /**
     * The last sample of a performance variable on MPI_COMM_WORLD, or bound to nothing: up to `room` values, its elements where a
     * sample has them, else the only value or the sum. How many there are; 0 where there was no sample yet. Costs a look into a table.
     */
    int (*read)(void *plugin, const char *name, double *values, int room);
    /**
     * Sets a control variable of the MPI, or of MEL, in this process. It is done at the entry of the program's next MPI call, on the thread that
     * makes it, which takes a few microseconds there (the first time some milliseconds); `control_set` is told then what it reads
     * back as, and the profile has it. 0; or -1 where it cannot be done any more, or 64 are waiting to be done.
     */
    int (*set)(void *plugin, const char *name, const char *value);
    /**
     * Adds a line to what the profile has of this rank: advice, or what was found. Of one name the last line stays. `mel report` shows
     * it, lines that are the same on several ranks once. 0; or -1 where there are 1024 already, or nothing is written any more.
     */
    int (*metadata)(void *plugin, const char *name, const char *value);
    /** Writes a line on standard error, with the plugin's name before it. At most 100 from each plugin. */
    void (*warn)(void *plugin, const char *line);
    /** The calls of an MPI function until now, all threads together; 0, or -1 where calls are not counted (--profile calls). Copies the
     *  whole table: for `end_of_execution` rather than for each sample. */
    int (*calls)(void *plugin, const char *function, struct mel_plugin_calls *calls);
};

/** What a plugin wants to hear. All is zero before mel_plugin_init; a null pointer: not that. `data` is given to each. */
struct mel_plugin_callbacks {
    /** `sizeof(struct mel_plugin_callbacks)`; anything else is refused. */
    size_t size;
    /** MEL_PLUGIN_VERSION; anything else is refused. */
    uint32_t version;
    void *data;
    /** Performance variables to be sampled in addition to those of --vars: names with * and ?, separated by commas. */
    const char *variables;
    void (*function_registration)(void *data, const struct mel_plugin_function *function);
    void (*atomic_event_registration)(void *data, const struct mel_plugin_variable *variable);
    void (*atomic_event_trigger)(void *data, const struct mel_plugin_sample *sample);
    void (*interrupt_trigger)(void *data, const struct mel_plugin_interrupt *interrupt);
    void (*end_of_execution)(void *data, const struct mel_plugin_end *end);
    void (*control_set)(void *data, const struct mel_plugin_control *control);
};

/**
 * What a plugin has. `argv[0]` is its name, the others what followed it, separated by commas: `--plugin NAME,a,b=1`. `mel` stays, the
 * arguments do, too. Returns 0; anything else: the plugin does not want to run, a line says so, and the program runs on without it.
 */
int mel_plugin_init(const struct mel_plugin_services *mel, struct mel_plugin_callbacks *callbacks, int argc, char **argv);

#ifdef __cplusplus
}
#endif

#endif
