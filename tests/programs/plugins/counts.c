/* A plugin that notes which hook was called first, second, and so on, each once; and that all run on one thread. */
#define _POSIX_C_SOURCE 200809L
#include <mel_plugin.h>

#include <pthread.h>
#include <string.h>

static const struct mel_plugin_services *services;
static char seen[128];
static pthread_t thread;

static void see(const char *hook)
{
    if (!seen[0])
        thread = pthread_self();
    if (!pthread_equal(thread, pthread_self()))
        hook = "elsewhere";
    if (strstr(seen, hook))
        return;
    if (seen[0])
        strcat(seen, " ");
    strcat(seen, hook);
}

static void function(void *data, const struct mel_plugin_function *of) { (void)of, see(data ? "data" : "function"); }
static void variable(void *data, const struct mel_plugin_variable *of) { (void)data, (void)of, see("variable"); }
static void sample(void *data, const struct mel_plugin_sample *of) { (void)data, (void)of, see("sample"); }
static void interrupt(void *data, const struct mel_plugin_interrupt *of) { (void)data, (void)of, see("interrupt"); }
static void end(void *data, const struct mel_plugin_end *of)
{
    (void)data, (void)of;
    see("end");
    services->metadata(services->plugin, "hooks", seen);
}

int mel_plugin_init(const struct mel_plugin_services *mel, struct mel_plugin_callbacks *callbacks, int argc, char **argv)
{
    (void)argc, (void)argv;
    services = mel;
    callbacks->version = MEL_PLUGIN_VERSION;
    callbacks->size = sizeof *callbacks;
    callbacks->variables = "mel_bytes_sent";
    callbacks->function_registration = function;
    callbacks->atomic_event_registration = variable;
    callbacks->atomic_event_trigger = sample;
    callbacks->interrupt_trigger = interrupt;
    callbacks->end_of_execution = end;
    return 0;
}
