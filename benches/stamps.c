/* Preloaded into an application: when rank 0 had left MPI_Init, and when it enters MPI_Finalize, in seconds since 1970, one line each
 * in the file that the variable STAMPS names. Fortran's calls are those of their own functions. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef void any_function(void);

static int inside;

static any_function *next(const char *name)
{
    return (any_function *)dlsym(RTLD_NEXT, name);
}

static void stamp(void)
{
    int rank = 1;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const char *name = getenv("STAMPS");
    FILE *file = rank == 0 && name ? fopen(name, "a") : NULL;
    if (file) {
        fprintf(file, "%lld.%09ld\n", (long long)now.tv_sec, now.tv_nsec);
        fclose(file);
    }
}

/* Defines a function that calls the next one of its name, and takes the time after or before that, but not within another one. */
#define STAMPED(result, name, before, parameters, ...)                                                                 \
    result name parameters                                                                                             \
    {                                                                                                                  \
        typedef result function parameters;                                                                            \
        int outermost = inside++ == 0;                                                                                 \
        if (outermost && before)                                                                                       \
            stamp();                                                                                                   \
        RESULT_##result(((function *)next(#name))(__VA_ARGS__));                                                       \
        if (outermost && !before)                                                                                      \
            stamp();                                                                                                   \
        inside--;                                                                                                      \
        RETURN_##result;                                                                                               \
    }
#define RESULT_int(call) int code = call
#define RETURN_int return code
#define RESULT_void(call) call
#define RETURN_void return

STAMPED(int, MPI_Init, 0, (int *count, char ***words), count, words)
STAMPED(int, MPI_Init_thread, 0, (int *count, char ***words, int wanted, int *given), count, words, wanted, given)
STAMPED(int, MPI_Finalize, 1, (void))
STAMPED(void, mpi_init_, 0, (int *error), error)
STAMPED(void, mpi_init_thread_, 0, (int *wanted, int *given, int *error), wanted, given, error)
STAMPED(void, mpi_finalize_, 1, (int *error), error)
