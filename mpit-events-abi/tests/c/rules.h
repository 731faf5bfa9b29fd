/* What the rules' programs share: checks that are told, and a message to make events with. */
#ifndef RULES_H
#define RULES_H

#include <mpit_events.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

/* Tells what is not as it should be, and goes on. */
#define CHECK(condition)                                                                               \
    do {                                                                                               \
        if (!(condition)) {                                                                            \
            printf("WRONG %s:%d: %s\n", __func__, __LINE__, #condition);                               \
            failures++;                                                                                \
        }                                                                                              \
    } while (0)

/* Checks a rule and tells its name. */
#define RULE(name)                                                                                     \
    do {                                                                                               \
        int before = failures;                                                                         \
        name();                                                                                        \
        if (failures == before)                                                                        \
            printf("holds %s\n", #name);                                                               \
        fflush(stdout);                                                                                \
    } while (0)

#define ARRIVED "pml_ob1_message_arrived"

static int arrived(void)
{
    int index = -1;
    CHECK(MPI_T_event_get_index(ARRIVED, &index) == MPI_SUCCESS);
    return index;
}

/* A registration for messages that arrive on `comm`. */
static MPI_T_event_registration registration(MPI_Comm comm)
{
    MPI_T_event_registration made = NULL;
    CHECK(MPI_T_event_handle_alloc(arrived(), &comm, MPI_INFO_NULL, &made) == MPI_SUCCESS);
    CHECK(made != NULL);
    return made;
}

/* A handle, a pointer or a number, where a pointer is wanted: its value, not where it is. */
#define AS_POINTER(handle) ((void *)(intptr_t)(handle))

static void end(MPI_T_event_registration handle)
{
    CHECK(MPI_T_event_handle_free(handle, NULL, NULL) == MPI_SUCCESS);
}

#endif
