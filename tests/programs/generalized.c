/* The tool information interface before MPI_Init, and requests that are not of messages: generalised
 * ones, waited for and tested together with receives.
 *
 * ranks: 1 2 4
 */
#include "check.h"

static int queries, frees;

static int query(void *state, MPI_Status *status)
{
    queries++;
    MPI_Status_set_elements(status, MPI_INT, *(int *)state);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    return MPI_SUCCESS;
}

static int release(void *state)
{
    (void)state;
    frees++;
    return MPI_SUCCESS;
}

static int cancel(void *state, int complete)
{
    (void)state;
    (void)complete;
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    int provided, variables;
    if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) || MPI_T_pvar_get_num(&variables) || variables < 0)
        return 1;
    MPI_Init(&argc, &argv);
    int rank = world_rank(), size = world_size();
    int left = (rank + size - 1) % size, right = (rank + 1) % size;

    for (int round = 0; round < 5; round++) {
        int sent = 100 * round + rank, received = -1, elements = round + 1, count;
        MPI_Request requests[3];
        MPI_Status statuses[3];
        MPI_Irecv(&received, 1, MPI_INT, left, round, MPI_COMM_WORLD, &requests[0]);
        MPI_Grequest_start(query, release, cancel, &elements, &requests[1]);
        MPI_Isend(&sent, 1, MPI_INT, right, round, MPI_COMM_WORLD, &requests[2]);
        MPI_Grequest_complete(requests[1]);
        if (round % 2) {
            MPI_Waitall(3, requests, statuses);
        } else {
            int all = 0, flag = 0;
            while (!flag)
                MPI_Test(&requests[1], &flag, &statuses[1]);
            MPI_Get_count(&statuses[1], MPI_INT, &count);
            REQUIRE(count == elements);
            while (!all)
                MPI_Testall(3, requests, &all, statuses);
        }
        REQUIRE(received == 100 * round + left && statuses[0].MPI_SOURCE == left && statuses[0].MPI_TAG == round);
        mix((uint64_t)received);
    }
    REQUIRE(queries == 5 && frees == 5);
    /* Open MPI 4 crashes where it is initialised longer than MPI. */
    REQUIRE(MPI_T_pvar_get_num(&variables) == MPI_SUCCESS && MPI_T_finalize() == MPI_SUCCESS);
    return finish();
}
