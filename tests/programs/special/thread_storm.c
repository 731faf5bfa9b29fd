/* MPI_THREAD_MULTIPLE: four threads per rank on communicators of their own and on a common one, with every way to send
 * and to receive, while two of them make communicators. Each thread verifies what it receives.
 *
 * Argument: number of rounds.
 */
#include "../check.h"
#include <pthread.h>

enum { THREADS = 4, INTS = 4, BIG = 20000 };

struct task {
    int number, rounds;
    MPI_Comm own, common;
};

static void fill(int *data, int thread, int round, int rank)
{
    int header[INTS] = {thread, round, rank, 77};
    memcpy(data, header, sizeof header);
}

static void verify(const int *data, const MPI_Status *status, int thread, int round, int rank, int tag)
{
    REQUIRE(data[0] == thread && data[1] == round && data[2] == rank && data[3] == 77);
    REQUIRE(status->MPI_SOURCE == rank && status->MPI_TAG == tag);
}

/* One message to the right and one from the left, in a way that depends on the round. */
static void pass(const struct task *task, MPI_Comm comm, int round, MPI_Request persistent[2], int *sent, int *received)
{
    int rank, size, tag = task->number, flag = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    int any = comm == task->own ? MPI_ANY_SOURCE : left, any_tag = comm == task->own ? MPI_ANY_TAG : tag;
    int length = round % 5 == 4 ? BIG : INTS;
    MPI_Request requests[2];
    MPI_Message message;
    MPI_Status statuses[2], *status = &statuses[0];

    fill(sent, task->number, round, rank);
    switch (round % 6) {
    case 0: /* blocking */
        if (rank % 2 == 0) {
            MPI_Send(sent, length, MPI_INT, right, tag, comm);
            MPI_Recv(received, BIG, MPI_INT, any, any_tag, comm, status);
        } else {
            MPI_Recv(received, BIG, MPI_INT, any, any_tag, comm, status);
            MPI_Send(sent, length, MPI_INT, right, tag, comm);
        }
        break;
    case 1: /* nonblocking */
        MPI_Irecv(received, BIG, MPI_INT, any, any_tag, comm, &requests[0]);
        MPI_Isend(sent, length, MPI_INT, right, tag, comm, &requests[1]);
        MPI_Waitall(2, requests, statuses);
        break;
    case 2: /* persistent */
        MPI_Startall(2, persistent);
        MPI_Waitall(2, persistent, statuses);
        break;
    case 3: /* probe, then receive */
        MPI_Isend(sent, length, MPI_INT, right, tag, comm, &requests[1]);
        MPI_Probe(left, tag, comm, status);
        MPI_Recv(received, BIG, MPI_INT, left, tag, comm, status);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        break;
    case 4: /* matched probe */
        MPI_Isend(sent, length, MPI_INT, right, tag, comm, &requests[1]);
        MPI_Improbe(any, any_tag, comm, &flag, &message, status);
        if (!flag)
            MPI_Mprobe(any, any_tag, comm, &message, status);
        MPI_Mrecv(received, BIG, MPI_INT, &message, status);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        break;
    default: /* both at once */
        MPI_Sendrecv(sent, length, MPI_INT, right, tag, received, BIG, MPI_INT, any, any_tag, comm, status);
    }
    verify(received, status, task->number, round, left, tag);
}

/* What is sent and received, and by which persistent requests: as a thread has it for one communicator. */
struct ends {
    int *sent, *received;
    MPI_Request persistent[2];
};

static void begin(struct ends *ends, const struct task *task, MPI_Comm comm)
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    ends->sent = calloc(BIG, sizeof(int));
    ends->received = calloc(BIG, sizeof(int));
    REQUIRE(ends->sent != NULL && ends->received != NULL);
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    MPI_Recv_init(ends->received, BIG, MPI_INT, left, task->number, comm, &ends->persistent[0]);
    MPI_Send_init(ends->sent, INTS, MPI_INT, right, task->number, comm, &ends->persistent[1]);
}

static void end(struct ends *ends)
{
    MPI_Request_free(&ends->persistent[0]);
    MPI_Request_free(&ends->persistent[1]);
    free(ends->sent);
    free(ends->received);
}

static void *run(void *argument)
{
    struct task *task = argument;
    struct ends own, common;
    begin(&own, task, task->own);
    begin(&common, task, task->common);
    for (int round = 0; round < task->rounds; round++) {
        pass(task, task->own, round, own.persistent, own.sent, own.received);
        pass(task, task->common, round, common.persistent, common.sent, common.received);
        /* Two threads make communicators at the same time, from different ones. */
        if (task->number < 2 && round % 4 == 1) {
            MPI_Comm copy;
            MPI_Status status;
            int rank, size, out = round, in = -1;
            MPI_Comm_dup(task->own, &copy);
            MPI_Comm_rank(copy, &rank);
            MPI_Comm_size(copy, &size);
            MPI_Sendrecv(&out, 1, MPI_INT, (rank + 1) % size, 9, &in, 1, MPI_INT, MPI_ANY_SOURCE, 9, copy, &status);
            REQUIRE(in == round && status.MPI_SOURCE == (rank + size - 1) % size);
            MPI_Comm_free(&copy);
        }
    }
    end(&own);
    end(&common);
    return NULL;
}

int main(int argc, char **argv)
{
    int provided, rounds = argc > 1 ? atoi(argv[1]) : 12;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    REQUIRE(provided == MPI_THREAD_MULTIPLE);

    pthread_t threads[THREADS];
    struct task tasks[THREADS];
    MPI_Comm common;
    MPI_Comm_dup(MPI_COMM_WORLD, &common);
    for (int i = 0; i < THREADS; i++) {
        tasks[i] = (struct task){.number = i, .rounds = rounds, .common = common};
        MPI_Comm_dup(MPI_COMM_WORLD, &tasks[i].own);
    }
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, run, &tasks[i]) == 0);
    for (int i = 0; i < THREADS; i++) {
        REQUIRE(pthread_join(threads[i], NULL) == 0);
        MPI_Comm_free(&tasks[i].own);
    }
    MPI_Comm_free(&common);
    mix((uint64_t)rounds);
    return finish();
}
