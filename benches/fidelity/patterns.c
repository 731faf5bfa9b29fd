/* Traffic that stresses matching, one pattern at a time: what `make fidelity` runs with both backends on.
 *
 *   patterns ring N        messages go round all ranks, N times; each rank computes a little before it sends on
 *   patterns many N        all send N messages to rank 0, which receives from MPI_ANY_SOURCE, in windows of 16
 *   patterns tags N        windows of 32 messages whose tags come against the order of the receives
 *   patterns flood N       rank 0 sends N messages, which the others receive after they have computed
 *   patterns late N        nonblocking exchange with both neighbours; odd ranks post their receives late
 *   patterns large N       messages of 100 kB to 1 MB, expected and unexpected in turn, mixed with small ones
 *   patterns windows N     windows of 16 receives, which one call waits for; each window is answered
 *   patterns wild N        a drawn plan of messages on three communicators, received with and without wildcards
 *
 * With PATTERNS_THREADS in the environment, it asks for MPI_THREAD_MULTIPLE.
 * Every pattern is without races where it can be: which messages go where does not depend on timing.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;

/* Computes for so many microseconds. */
static void compute(double microseconds)
{
    double end = MPI_Wtime() + microseconds * 1e-6;
    while (MPI_Wtime() < end)
        ;
}

static void ring(int rounds)
{
    int next = (rank + 1) % size, previous = (rank + size - 1) % size, token = 0;
    for (int i = 0; i < rounds; i++) {
        if (rank == 0) {
            MPI_Send(&i, 1, MPI_INT, next, 1, MPI_COMM_WORLD);
            MPI_Recv(&token, 1, MPI_INT, previous, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(&token, 1, MPI_INT, previous, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            compute(20);
            MPI_Send(&token, 1, MPI_INT, next, 1, MPI_COMM_WORLD);
        }
    }
}

enum { WINDOW = 16 };

static void many(int messages)
{
    int values[WINDOW];
    MPI_Request requests[WINDOW];
    if (rank != 0) {
        for (int i = 0; i < messages; i++) {
            MPI_Send(&i, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
            if (i % 64 == 63)
                compute(200);
        }
        return;
    }
    for (int left = messages * (size - 1); left > 0;) {
        int posted = left < WINDOW ? left : WINDOW;
        for (int i = 0; i < posted; i++)
            MPI_Irecv(&values[i], 1, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &requests[i]);
        MPI_Waitall(posted, requests, MPI_STATUSES_IGNORE);
        left -= posted;
        compute(30);
    }
}

enum { TAGS = 32 };

static void tags(int windows)
{
    int values[TAGS], partner = rank ^ 1;
    MPI_Request requests[TAGS];
    if (partner >= size)
        return;
    for (int w = 0; w < windows; w++) {
        if (rank % 2 == 0) {
            MPI_Recv(values, 0, MPI_INT, partner, 1000, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            for (int i = 0; i < TAGS; i++)
                MPI_Send(&i, 1, MPI_INT, partner, i, MPI_COMM_WORLD);
        } else {
            /* In even windows the receives wait for the messages, in odd ones the messages for the receives. */
            if (w % 2 == 1)
                MPI_Send(values, 0, MPI_INT, partner, 1000, MPI_COMM_WORLD);
            if (w % 2 == 1) {
                int flag = 0;
                while (!flag)
                    MPI_Iprobe(partner, TAGS - 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
            }
            for (int i = 0; i < TAGS; i++)
                MPI_Irecv(&values[i], 1, MPI_INT, partner, TAGS - 1 - i, MPI_COMM_WORLD, &requests[i]);
            if (w % 2 == 0)
                MPI_Send(values, 0, MPI_INT, partner, 1000, MPI_COMM_WORLD);
            MPI_Waitall(TAGS, requests, MPI_STATUSES_IGNORE);
        }
    }
}

static void flood(int messages)
{
    int value = 0;
    if (rank == 0) {
        for (int i = 0; i < messages; i++)
            for (int to = 1; to < size; to++)
                MPI_Send(&i, 1, MPI_INT, to, 3, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    compute(1000);
    for (int i = 0; rank != 0 && i < messages; i++)
        MPI_Recv(&value, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void late(int rounds)
{
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    char from[2][512], to[2][512];
    MPI_Request requests[4];
    memset(to, 1, sizeof to);
    for (int i = 0; i < rounds; i++) {
        if (rank % 2 == 0) {
            MPI_Irecv(from[0], 512, MPI_CHAR, previous, 4, MPI_COMM_WORLD, &requests[0]);
            MPI_Irecv(from[1], 512, MPI_CHAR, next, 5, MPI_COMM_WORLD, &requests[1]);
        }
        MPI_Isend(to[0], 512, MPI_CHAR, next, 4, MPI_COMM_WORLD, &requests[2]);
        MPI_Isend(to[1], 512, MPI_CHAR, previous, 5, MPI_COMM_WORLD, &requests[3]);
        compute(rank == 1 ? 300 : 100);
        if (rank % 2 == 1) {
            MPI_Irecv(from[0], 512, MPI_CHAR, previous, 4, MPI_COMM_WORLD, &requests[0]);
            MPI_Irecv(from[1], 512, MPI_CHAR, next, 5, MPI_COMM_WORLD, &requests[1]);
        }
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    }
}

static void large(int rounds)
{
    enum { MOST = 1 << 20, KINDS = 4 };
    static const int bytes[KINDS] = {100000, 64, MOST, 5000};
    int partner = rank ^ 1;
    if (partner >= size)
        return;
    char *buffers = calloc(2 * KINDS, MOST);
    MPI_Request requests[2 * KINDS];
    for (int i = 0; i < rounds; i++) {
        int n = 0;
        int early = (i + rank) % 2 == 0;
        for (int k = 0; early && k < KINDS; k++)
            MPI_Irecv(buffers + (size_t)k * MOST, bytes[k], MPI_CHAR, partner, k, MPI_COMM_WORLD, &requests[n++]);
        for (int k = 0; k < KINDS; k++)
            MPI_Isend(buffers + (size_t)(KINDS + k) * MOST, bytes[k], MPI_CHAR, partner, k, MPI_COMM_WORLD,
                      &requests[n++]);
        compute(100);
        for (int k = 0; !early && k < KINDS; k++)
            MPI_Irecv(buffers + (size_t)k * MOST, bytes[k], MPI_CHAR, partner, k, MPI_COMM_WORLD, &requests[n++]);
        MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
    }
    free(buffers);
}

static uint64_t state = 42;

static int draw(int below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)below);
}

static void wild(int rounds)
{
    enum { COMMS = 3, MOST = 48 };
    MPI_Comm comms[COMMS];
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[1]);
    comms[2] = MPI_COMM_WORLD;
    for (int r = 0; r < rounds; r++) {
        int values[MOST], count = 0;
        MPI_Request requests[2 * MOST];
        int first = draw(2), which = draw(COMMS), any_source = draw(2), any_tag = draw(2);
        struct { int from, to, tag; } plan[MOST];
        for (int i = 0; i < MOST; i++) {
            plan[i].from = draw(size);
            plan[i].to = draw(size);
            plan[i].tag = draw(4);
        }
        int me;
        MPI_Comm_rank(comms[which], &me);
        for (int step = 0; step < 2; step++) {
            int receives = (step == 0) == ((first + me) % 2 == 0);
            for (int i = 0; i < MOST; i++) {
                if (receives && plan[i].to == me)
                    MPI_Irecv(&values[i], 1, MPI_INT, any_source ? MPI_ANY_SOURCE : plan[i].from,
                              any_tag ? MPI_ANY_TAG : plan[i].tag, comms[which], &requests[count++]);
                if (!receives && plan[i].from == me)
                    MPI_Isend(&i, 1, MPI_INT, plan[i].to, plan[i].tag, comms[which], &requests[count++]);
            }
            if (step == 0)
                compute(50);
        }
        MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Comm_free(&comms[0]);
    MPI_Comm_free(&comms[1]);
}

static void windows(int rounds)
{
    int values[WINDOW], answer = 0;
    MPI_Request requests[WINDOW];
    for (int round = 0; round < rounds && rank < 2; round++) {
        for (int i = 0; i < WINDOW; i++) {
            if (rank == 0)
                MPI_Isend(&i, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, &requests[i]);
            else
                MPI_Irecv(&values[i], 1, MPI_INT, 0, 9, MPI_COMM_WORLD, &requests[i]);
        }
        MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
        if (rank == 0)
            MPI_Recv(&answer, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            MPI_Send(&answer, 1, MPI_INT, 0, 9, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    static const struct { const char *name; void (*run)(int); } patterns[] = {
        {"ring", ring}, {"many", many},   {"tags", tags}, {"flood", flood},
        {"late", late}, {"large", large}, {"wild", wild}, {"windows", windows},
    };
    int provided;
    MPI_Init_thread(&argc, &argv, getenv("PATTERNS_THREADS") ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int known = 0;
    for (size_t i = 0; argc == 3 && i < sizeof patterns / sizeof patterns[0]; i++) {
        if (strcmp(argv[1], patterns[i].name) == 0) {
            patterns[i].run(atoi(argv[2]));
            known = 1;
        }
    }
    if (!known && rank == 0)
        fprintf(stderr, "usage: patterns ring|many|tags|flood|late|large|wild|windows N\n");
    MPI_Finalize();
    return known ? 0 : 2;
}
