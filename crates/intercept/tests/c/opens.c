/* A program that opens the MPI library itself, and finds its functions by dlsym: as languages do that are not compiled.
   The first argument is the library, the second "local" or "global". */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static void *function(void *library, const char *name)
{
    dlerror();
    void *found = dlsym(library, name);
    const char *error = dlerror();
    if (!found || error)
        fprintf(stderr, "%s: %s\n", name, error ? error : "null");
    return found;
}

int main(int argc, char **argv)
{
    /* Nobody has these now; whether somebody has them later depends on the library. */
    printf("%d", dlsym(RTLD_DEFAULT, "MPI_Init") != NULL);
    int local = argc > 2 && strcmp(argv[2], "local") == 0;
    void *library = dlopen(argv[1], RTLD_LAZY | (local ? RTLD_LOCAL : RTLD_GLOBAL));
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    int (*init)(int *, char ***) = (int (*)(int *, char ***))function(library, "MPI_Init");
    int (*initialized)(int *) = (int (*)(int *))function(library, "MPI_Initialized");
    int (*unseen)(int *) = (int (*)(int *))function(library, "PMPI_Initialized");
    int (*finalize)(void) = (int (*)(void))function(library, "MPI_Finalize");
    int flags[3] = { 0, 0, 0 };
    initialized(&flags[0]);
    init(NULL, NULL);
    initialized(&flags[1]);
    unseen(&flags[2]);
    if (!local)
        printf("%d", dlsym(RTLD_DEFAULT, "MPI_Init") != NULL);
    /* Many do not have this. */
    printf("%d\n", dlsym(RTLD_DEFAULT, "MPI_Abi_get_version") != NULL && !local);
    printf("%d %d %d\n", flags[0], flags[1], flags[2]);
    if (dlsym(library, "MPI_No_such_function") || !dlerror())
        puts("a function that is not there was found");
    fflush(stdout);
    return finalize();
}
