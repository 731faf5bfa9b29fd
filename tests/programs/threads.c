/* MPI_THREAD_MULTIPLE: several threads per rank communicate at the same time.
 *
 * Each thread has a communicator of its own and passes messages around the ring of ranks, with posted receives, late
 * receives and wildcards. A last communicator is shared by all threads, which distinguish their messages by tag.
 *
 * ranks: 2 4
 */
#include "check.h"
#include <pthread.h>

enum { THREADS = 4, ROUNDS = 50 };

struct thread_task {
    int number;
    MPI_Comm own, shared;
    uint64_t sum; /* what `mix` would add, kept per thread */
};

static void pass(struct thread_task *task, MPI_Comm comm, int tag, int round)
{
    int rank, size, received = -1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    int sent = 100000 * task->number + 100 * round + rank;
    int source = comm == task->own && round % 3 == 0 ? MPI_ANY_SOURCE : left;
    MPI_Request request;
    MPI_Status status;

    if (round % 2) {
        MPI_Irecv(&received, 1, MPI_INT, source, tag, comm, &request);
        MPI_Send(&sent, 1, MPI_INT, right, tag, comm);
        MPI_Wait(&request, &status);
    } else {
        MPI_Isend(&sent, 1, MPI_INT, right, tag, comm, &request);
        MPI_Recv(&received, 1, MPI_INT, source, tag, comm, &status);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    REQUIRE(status.MPI_SOURCE == left && status.MPI_TAG == tag);
    REQUIRE(received == 100000 * task->number + 100 * round + left);
    task->sum += scramble((uint64_t)received);
}

static void *run(void *argument)
{
    struct thread_task *task = argument;
    for (int round = 0; round < ROUNDS; round++) {
        pass(task, task->own, 1, round);
        pass(task, task->shared, task->number, round);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    REQUIRE(provided == MPI_THREAD_MULTIPLE);

    pthread_t threads[THREADS];
    struct thread_task tasks[THREADS];
    MPI_Comm shared;
    MPI_Comm_dup(MPI_COMM_WORLD, &shared);
    for (int i = 0; i < THREADS; i++) {
        tasks[i] = (struct thread_task){.number = i, .shared = shared};
        MPI_Comm_dup(MPI_COMM_WORLD, &tasks[i].own);
    }
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, run, &tasks[i]) == 0);
    for (int i = 0; i < THREADS; i++) {
        REQUIRE(pthread_join(threads[i], NULL) == 0);
        checksum += tasks[i].sum;
        MPI_Comm_free(&tasks[i].own);
    }
    MPI_Comm_free(&shared);
    return finish();
}
