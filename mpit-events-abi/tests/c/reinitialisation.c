/* The rules on initialising the tool information interface again. A program of its own, without
 * MPI_Init and without variables: after MPI_T_finalize and a second MPI_T_init_thread MPICH 4.0
 * crashes in both, without us too. */
#include "rules.h"

/* Rule 2. */
static void names_and_indices_survive_reinitialisation(void)
{
    int provided, before = 0, after = 0, sources_before = 0, sources_after = 0;
    char first[64], again[64];
    CHECK(MPI_T_event_get_num(&before) == MPI_SUCCESS && before >= 16);
    CHECK(MPI_T_source_get_num(&sources_before) == MPI_SUCCESS);
    int length = sizeof first;
    CHECK(MPI_T_event_get_info(before - 1, first, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) ==
          MPI_SUCCESS);

    /* Two more, two less: still initialised. */
    CHECK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS);
    CHECK(PMPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS);
    CHECK(MPI_T_finalize() == MPI_SUCCESS && PMPI_T_finalize() == MPI_SUCCESS);
    CHECK(MPI_T_event_get_num(&after) == MPI_SUCCESS);

    CHECK(MPI_T_finalize() == MPI_SUCCESS);
    CHECK(MPI_T_event_get_num(&after) == MPI_T_ERR_NOT_INITIALIZED);
    CHECK(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided) == MPI_SUCCESS);
    CHECK(MPI_T_event_get_num(&after) == MPI_SUCCESS && after == before);
    CHECK(MPI_T_source_get_num(&sources_after) == MPI_SUCCESS && sources_after == sources_before);
    length = sizeof again;
    CHECK(MPI_T_event_get_info(after - 1, again, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) ==
          MPI_SUCCESS);
    CHECK(strcmp(first, again) == 0);
}

/* Rule 40. */
static void registrations_end_with_the_last_finalisation(void)
{
    int provided;
    MPI_T_event_registration left = registration(MPI_COMM_WORLD);
    CHECK(MPI_T_finalize() == MPI_SUCCESS);
    CHECK(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided) == MPI_SUCCESS);
    CHECK(MPI_T_event_handle_set_info(left, MPI_INFO_NULL) == MPI_T_ERR_INVALID_HANDLE);
    end(registration(MPI_COMM_WORLD));
}

int main(void)
{
    int provided;
    CHECK(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided) == MPI_SUCCESS);
    RULE(names_and_indices_survive_reinitialisation);
    RULE(registrations_end_with_the_last_finalisation);
    return failures != 0;
}
