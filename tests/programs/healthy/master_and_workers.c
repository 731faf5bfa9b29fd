/* A master that works itself and answers its workers now and then; each worker has its next task already while it does one,
 * and asks for another one: nobody waits.
 *
 * ranks: 4
 */
#include "../planted/planted.h"

enum { TASKS = 20, STOP = 0 };

/* Answers those who have asked until now. */
static void answer(int *left, int *working)
{
    for (;;) {
        int asked, task;
        MPI_Status status;
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &asked, &status);
        if (!asked)
            return;
        MPI_Recv(&task, 1, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        task = --left[status.MPI_SOURCE] > 0 ? left[status.MPI_SOURCE] : STOP;
        *working -= task == STOP;
        MPI_Send(&task, 1, MPI_INT, status.MPI_SOURCE, 0, MPI_COMM_WORLD);
    }
}

static void master(void)
{
    int left[4] = {0, TASKS, TASKS, TASKS}, working = size - 1;
    while (working > 0) {
        compute(5);
        answer(left, &working);
    }
}

static void worker(void)
{
    int task = TASKS, next;
    MPI_Request request;
    while (task != STOP) {
        MPI_Irecv(&next, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request);
        MPI_Send(&task, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        work(20);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        task = next;
    }
}

int main(int argc, char **argv)
{
    begin_together(&argc, &argv);
    if (rank == 0)
        master();
    else
        worker();
    return end();
}
