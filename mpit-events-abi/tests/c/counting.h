/* A callback that counts. */
#ifndef COUNTING_H
#define COUNTING_H

#include "rules.h"

/* What a callback that counts has seen. */
struct seen {
    int events;
    MPI_T_event_registration registration;
    MPI_T_cb_safety safety;
};

static void count(MPI_T_event_instance event, MPI_T_event_registration handle, MPI_T_cb_safety safety,
                  void *user_data)
{
    struct seen *seen = user_data;
    (void)event;
    seen->events++;
    seen->registration = handle;
    seen->safety = safety;
}

/* Installs a counting callback for a level. */
static void listen(MPI_T_event_registration handle, MPI_T_cb_safety level, struct seen *seen)
{
    CHECK(MPI_T_event_register_callback(handle, level, MPI_INFO_NULL, seen, count) == MPI_SUCCESS);
}

#endif
