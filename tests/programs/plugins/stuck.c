/* A plugin that does not return from its first interrupt. */
#include <mel_plugin.h>

#include <unistd.h>

static void interrupt(void *data, const struct mel_plugin_interrupt *of)
{
    (void)data, (void)of;
    for (;;)
        pause();
}

int mel_plugin_init(const struct mel_plugin_services *mel, struct mel_plugin_callbacks *callbacks, int argc, char **argv)
{
    (void)mel, (void)argc, (void)argv;
    callbacks->version = MEL_PLUGIN_VERSION;
    callbacks->size = sizeof *callbacks;
    callbacks->variables = "pml_monitoring_messages_count";
    callbacks->interrupt_trigger = interrupt;
    return 0;
}
