/* A plugin that was built for a version that is not there yet. */
#include <mel_plugin.h>

int mel_plugin_init(const struct mel_plugin_services *mel, struct mel_plugin_callbacks *callbacks, int argc, char **argv)
{
    (void)mel, (void)argc, (void)argv;
    callbacks->version = 77;
    callbacks->size = sizeof *callbacks;
    return 0;
}
