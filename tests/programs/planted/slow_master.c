/* A master that receives from any source takes 5 ms to prepare each task; its three workers, which need 1 ms for one, wait
 * for it.
 *
 * Of 30 tasks, the first three are waited for 5, 10 and 15 ms, the others 14 ms each; then two workers wait for the end, 4
 * and 9 ms.
 *
 * ranks: 4
 * default: rule=late_sender cause=0 site=TASK cause_site=HAND_OUT lost=0.42 victims=1,2,3
 * exact: rule=late_standard_send cause=0 site=TASK cause_site=HAND_OUT lost=0.42 victims=1,2,3
 */
#include "planted.h"

static void master(int tasks)
{
    for (int working = size - 1; working > 0; tasks--) {
        int result;
        MPI_Status status;
        MPI_Recv(&result, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        if (tasks > 0)
            work(5);
        else
            working--;
        MPI_Send(&tasks, 1, MPI_INT, status.MPI_SOURCE, 0, MPI_COMM_WORLD); /* line HAND_OUT */
    }
}

static void worker(void)
{
    for (int task = 0;;) {
        MPI_Send(&task, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        MPI_Recv(&task, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* line TASK */
        if (task <= 0)
            return;
        work(1);
    }
}

int main(int argc, char **argv)
{
    begin_together(&argc, &argv);
    if (rank == 0)
        master(30);
    else
        worker();
    return end();
}
