/* The least that a preloaded tool can do which is told of each one-sided operation when it starts and when it is complete: two
 * functions that do nothing, called through pointers with what the events would say. No list of what is under way, no
 * registrations, no clock, no window. What this costs beside the plain program, no tool can save.
 *
 *     cc -O2 -shared -fPIC -o libfloor.so floor.c
 */
#include <mpi.h>

struct operation {
    const void *origin;
    MPI_Aint displacement;
    long bytes;
    int target;
};

static void nothing(const struct operation *operation)
{
    (void)operation;
}

/* The compiler must not know where they lead. */
static void (*volatile started)(const struct operation *) = nothing;
static void (*volatile complete)(const struct operation *) = nothing;

#define OPERATION(name, constness)                                                                                     \
    int MPI_##name(constness void *origin, int count, MPI_Datatype type, int target, MPI_Aint displacement,           \
                   int target_count, MPI_Datatype target_type, MPI_Win win)                                           \
    {                                                                                                                  \
        const struct operation operation = {origin, displacement, count, target};                                     \
        started(&operation);                                                                                           \
        int result =                                                                                                   \
            PMPI_##name(origin, count, type, target, displacement, target_count, target_type, win);                   \
        complete(&operation);                                                                                          \
        return result;                                                                                                 \
    }

OPERATION(Put, const)
OPERATION(Get, )
