/* A program without MPI that loads two parts, each linked with an MPI of its own, and runs the second. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    if (argc < 3 || !dlopen(argv[1], RTLD_NOW | RTLD_LOCAL)) {
        fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    void *part = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
    if (!part) {
        fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    int (*run)(void) = (int (*)(void))dlsym(part, "run");
    return run();
}
