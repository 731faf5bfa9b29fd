/* Preloaded before a program: makes the PERUSE of its MPI worse than it is.
 *
 * PERUSE_WITHOUT=NAME   the event of this name is not known
 * PERUSE_REFUSES=N      the registrations on the Nth communicator that is registered on fail
 *
 * At the end of each process it prints on standard output how many registrations there are, and how many are active.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FAILS = 8, MOST = 64 };

static void *seen[MOST];
static int comms, registered, active;

static void *next(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

int PERUSE_Query_event(const char *name, int *event)
{
    const char *without = getenv("PERUSE_WITHOUT");
    if (without != NULL && strcmp(name, without) == 0)
        return FAILS;
    return ((int (*)(const char *, int *))next("PERUSE_Query_event"))(name, event);
}

int PERUSE_Event_comm_register(int event, void *comm, void *callback, void *data, void **handle)
{
    int place = 0;
    while (place < comms && seen[place] != comm)
        place++;
    if (place == comms && comms < MOST)
        seen[comms++] = comm;
    const char *refuses = getenv("PERUSE_REFUSES");
    if (refuses != NULL && atoi(refuses) == place)
        return FAILS;
    registered++;
    int (*real)(int, void *, void *, void *, void **) =
        (int (*)(int, void *, void *, void *, void **))next("PERUSE_Event_comm_register");
    return real(event, comm, callback, data, handle);
}

int PERUSE_Event_activate(void *handle)
{
    active++;
    return ((int (*)(void *))next("PERUSE_Event_activate"))(handle);
}

int PERUSE_Event_deactivate(void *handle)
{
    active--;
    return ((int (*)(void *))next("PERUSE_Event_deactivate"))(handle);
}

__attribute__((destructor)) static void report(void)
{
    if (registered > 0 || comms > 0)
        printf("peruse: %d communicators, %d registered, %d active at the end\n", comms, registered, active);
}
