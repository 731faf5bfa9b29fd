/* Mistakes that do no harm as long as the MPI stores messages, and what looks like them: the first argument names one, each of which is
 * made ten times. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { STEPS = 10, COUNT = 8, LONGER = 256 };

static int rank, size;
static double out[LONGER], in[LONGER];

static void sends(int to)
{
    MPI_Send(out, COUNT, MPI_DOUBLE, to, 0, MPI_COMM_WORLD); /* line SEND */
}

static void receives(int from)
{
    MPI_Recv(in, COUNT, MPI_DOUBLE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Two send to each other. */
static void head_to_head(void)
{
    if (rank < 2) {
        sends(1 - rank);
        receives(1 - rank);
    }
}

static void head_to_head_in_turn(void)
{
    if (rank == 0)
        sends(1);
    if (rank < 2)
        receives(1 - rank);
    if (rank == 1)
        sends(0);
}

/* All send to the right. */
static void ring(void)
{
    sends((rank + 1) % size);
    receives((rank + size - 1) % size);
}

static void ring_that_one_opens(void)
{
    if (rank == 0)
        receives(size - 1);
    sends((rank + 1) % size);
    if (rank != 0)
        receives(rank - 1);
}

static void ring_of_both(void)
{
    MPI_Sendrecv(out, COUNT, MPI_DOUBLE, (rank + 1) % size, 0, in, COUNT, MPI_DOUBLE, (rank + size - 1) % size, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* The send, which is long enough to have a request of its own, is waited for before the receive. */
static void waits_first(void)
{
    MPI_Request request;
    MPI_Isend(out, LONGER, MPI_DOUBLE, rank ^ 1, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE); /* line WAIT */
    MPI_Recv(in, LONGER, MPI_DOUBLE, rank ^ 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void waits_last(void)
{
    MPI_Request request;
    MPI_Isend(out, COUNT, MPI_DOUBLE, rank ^ 1, 0, MPI_COMM_WORLD, &request);
    receives(rank ^ 1);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void receives_first(void)
{
    MPI_Request request;
    MPI_Irecv(in, COUNT, MPI_DOUBLE, rank ^ 1, 0, MPI_COMM_WORLD, &request);
    sends(rank ^ 1);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void tests_between(void)
{
    MPI_Request request;
    int flag;
    MPI_Irecv(in, COUNT, MPI_DOUBLE, rank ^ 1, 0, MPI_COMM_WORLD, &request);
    MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    sends(rank ^ 1);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* A message to itself. */
static void to_itself(void)
{
    sends(rank);
    receives(rank);
}

static void to_itself_received_first(void)
{
    MPI_Request request;
    MPI_Irecv(in, COUNT, MPI_DOUBLE, rank, 0, MPI_COMM_WORLD, &request);
    sends(rank);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* One sends before a barrier what the other receives after it. */
static void over_a_barrier(void)
{
    if (rank == 0)
        sends(1);
    MPI_Barrier(MPI_COMM_WORLD); /* line BARRIER */
    if (rank == 1)
        receives(0);
}

static void before_a_barrier(void)
{
    if (rank == 0)
        sends(1);
    if (rank == 1)
        receives(0);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Whoever comes first is received first. */
static void any_worker(void)
{
    if (rank > 0) {
        if (rank == 2)
            receives(1);
        sends(0);
        if (rank == 1)
            sends(2);
        return;
    }
    for (int worker = 1; worker < size; worker++)
        receives(MPI_ANY_SOURCE);
}

static void probed_worker(void)
{
    MPI_Status status;
    if (rank > 0) {
        sends(0);
        receives(0);
        return;
    }
    for (int worker = 1; worker < size; worker++) {
        MPI_Probe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
        receives(status.MPI_SOURCE);
        sends(status.MPI_SOURCE);
    }
}

/* What has no data gets no longer. */
static void tokens(void)
{
    MPI_Send(out, 0, MPI_DOUBLE, rank ^ 1, 0, MPI_COMM_WORLD);
    MPI_Recv(in, 0, MPI_DOUBLE, rank ^ 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void buffered(void)
{
    static char space[COUNT * sizeof(double) + MPI_BSEND_OVERHEAD];
    void *back;
    int length;
    MPI_Buffer_attach(space, sizeof space);
    MPI_Bsend(out, COUNT, MPI_DOUBLE, rank ^ 1, 0, MPI_COMM_WORLD);
    receives(rank ^ 1);
    MPI_Buffer_detach(&back, &length);
}

/* The members give less than the root has room for. */
static void less_than_is_gathered(void)
{
    double all[16 * COUNT];
    MPI_Gather(out, rank == 0 ? COUNT : 2, MPI_DOUBLE, all, COUNT, MPI_DOUBLE, 0, MPI_COMM_WORLD); /* line GATHER */
}

static void as_much_as_is_gathered(void)
{
    double all[16 * COUNT];
    MPI_Gather(out, COUNT, MPI_DOUBLE, all, COUNT, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Gather(out, COUNT, MPI_DOUBLE, all, COUNT, MPI_DOUBLE, size - 1, MPI_COMM_WORLD);
    MPI_Reduce(out, in, COUNT, MPI_DOUBLE, MPI_SUM, 1, MPI_COMM_WORLD);
    MPI_Bcast(out, COUNT, MPI_DOUBLE, 1, MPI_COMM_WORLD);
    MPI_Scatter(all, COUNT, MPI_DOUBLE, in, COUNT, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Allreduce(out, in, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allgather(out, COUNT, MPI_DOUBLE, all, COUNT, MPI_DOUBLE, MPI_COMM_WORLD);
    MPI_Alltoall(all, COUNT, MPI_DOUBLE, all + 8 * COUNT, COUNT, MPI_DOUBLE, MPI_COMM_WORLD);
}

/* Each of two sends to the other as the root. */
static void two_roots(void)
{
    MPI_Comm pair;
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &pair);
    MPI_Bcast(out, 1, MPI_DOUBLE, rank % 2, pair); /* line TWO_ROOTS */
    MPI_Comm_free(&pair);
}

static const struct {
    const char *name;
    void (*step)(void);
} ALL[] = {
    {"head_to_head", head_to_head},
    {"head_to_head_in_turn", head_to_head_in_turn},
    {"ring", ring},
    {"ring_that_one_opens", ring_that_one_opens},
    {"ring_of_both", ring_of_both},
    {"waits_first", waits_first},
    {"waits_last", waits_last},
    {"receives_first", receives_first},
    {"tests_between", tests_between},
    {"to_itself", to_itself},
    {"to_itself_received_first", to_itself_received_first},
    {"over_a_barrier", over_a_barrier},
    {"before_a_barrier", before_a_barrier},
    {"any_worker", any_worker},
    {"probed_worker", probed_worker},
    {"tokens", tokens},
    {"buffered", buffered},
    {"less_than_is_gathered", less_than_is_gathered},
    {"as_much_as_is_gathered", as_much_as_is_gathered},
    {"two_roots", two_roots},
};

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (size_t place = 0; argc > 1 && place < sizeof ALL / sizeof *ALL; place++)
        if (strcmp(argv[1], ALL[place].name) == 0)
            for (int step = 0; step < STEPS; step++)
                ALL[place].step();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
