/*
 * A plugin of MEL that watches and advises.
 *
 * It follows the length of the unexpected queue from sample to sample, and looks at the end how often it was long: then receives are
 * posted too late. And it has a rule for offloading: where a program spends more than a share of its run in small MPI_Allreduce
 * operations, a network that reduces by itself may help (MVAPICH2's MPIR_CVAR_ENABLE_SHARP; not tried here).
 *
 *     cc -shared -fPIC -Iinclude -o libadvise.so examples/plugins/advise.c
 *     mpirun -n 4 mel run --every 100ms --plugin ./libadvise.so,length=100,share=5,bytes=2048 ./app
 *
 * What it says is in the profile, and in what `mel report` shows.
 */
#include <mel_plugin.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUEUE "mel_unexpected_queue_length"

/* All callbacks run on one thread: there is nothing to lock. */
static struct {
    const struct mel_plugin_services *mel;
    /* What is taken for long; share of the run in per cent and mean size from which on the rule for MPI_Allreduce holds. */
    double length, share, bytes;
    /* Samples, those with a long queue, and the longest. */
    unsigned samples, is_long;
    double longest;
    int functions;
    char phase[64];
} advisor = {.length = 100, .share = 5, .bytes = 2048};

static void called(void *data, const struct mel_plugin_function *function)
{
    (void)data;
    if (function->kind == MEL_PLUGIN_PHASE)
        snprintf(advisor.phase, sizeof advisor.phase, "%s", function->name);
    else
        advisor.functions++;
}

static void registered(void *data, const struct mel_plugin_variable *variable)
{
    (void)data;
    advisor.mel->metadata(advisor.mel->plugin, "watched", variable->name);
}

static void sampled(void *data, const struct mel_plugin_sample *sample)
{
    (void)data;
    if (strcmp(sample->variable->name, QUEUE) || strcmp(sample->variable->object, "MPI_COMM_WORLD"))
        return;
    advisor.samples++;
    advisor.is_long += sample->value >= advisor.length;
    if (sample->value > advisor.longest)
        advisor.longest = sample->value;
}

static void ended(void *data, const struct mel_plugin_end *end)
{
    char text[256];
    struct mel_plugin_calls calls;
    (void)data;
    if (end->how != MEL_PLUGIN_FINALIZED)
        return;
    if (advisor.is_long * 2 > advisor.samples) {
        snprintf(text, sizeof text,
                 "%u of %u samples had %g or more unexpected messages (up to %g): post receives earlier%s%s",
                 advisor.is_long, advisor.samples, advisor.length, advisor.longest,
                 advisor.phase[0] ? ", first in phase " : "", advisor.phase);
        advisor.mel->metadata(advisor.mel->plugin, "unexpected messages", text);
    }
    if (!advisor.mel->calls(advisor.mel->plugin, "MPI_Allreduce", &calls) && calls.calls && calls.run_seconds > 0) {
        double share = 100 * calls.seconds / calls.run_seconds;
        double mean = (double)calls.bytes_sent / (double)calls.calls;
        if (share >= advisor.share && mean <= advisor.bytes) {
            snprintf(text, sizeof text,
                     "%.0f %% of the run in MPI_Allreduce of %.0f bytes: if the network can reduce, let it "
                     "(MVAPICH2: MPIR_CVAR_ENABLE_SHARP=1)",
                     share, mean);
            advisor.mel->metadata(advisor.mel->plugin, "small reductions", text);
        }
    }
    snprintf(text, sizeof text, "%d MPI functions", advisor.functions);
    advisor.mel->metadata(advisor.mel->plugin, "called", text);
}

int mel_plugin_init(const struct mel_plugin_services *mel, struct mel_plugin_callbacks *callbacks, int argc, char **argv)
{
    if (mel->version != MEL_PLUGIN_VERSION)
        return 1;
    advisor.mel = mel;
    for (int i = 1; i < argc; i++) {
        if (sscanf(argv[i], "length=%lf", &advisor.length) != 1 && sscanf(argv[i], "share=%lf", &advisor.share) != 1 &&
            sscanf(argv[i], "bytes=%lf", &advisor.bytes) != 1) {
            mel->warn(mel->plugin, "give length=N, share=PERCENT or bytes=N");
            return 2;
        }
    }
    callbacks->version = MEL_PLUGIN_VERSION;
    callbacks->size = sizeof *callbacks;
    callbacks->variables = QUEUE;
    callbacks->function_registration = called;
    callbacks->atomic_event_registration = registered;
    callbacks->atomic_event_trigger = sampled;
    callbacks->end_of_execution = ended;
    return 0;
}
