/* A program without MPI that loads a part with MPI: privately, as interpreters load extension modules, or,
   with a second argument, for all to see and bound lazily. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    void *part = dlopen(argv[1], argc > 2 ? RTLD_LAZY | RTLD_GLOBAL : RTLD_NOW | RTLD_LOCAL);
    if (!part) {
        fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    int (*run)(void) = (int (*)(void))dlsym(part, "run");
    return run();
}
