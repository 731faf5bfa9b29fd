/* Makes calls of one kind again and again, on one rank, or messages between two. Under callgrind, instructions of the last CALLS rounds are counted apart, as the
 * dump of the kind's name; nothing else is counted.
 *
 * arguments: the kinds
 */
#include <valgrind/callgrind.h>

#include "../check.h"

enum { BEFORE = 300, CALLS = 1000, TAG = 7, NEVER = 99, WINDOW = 64 };

static MPI_Request requests[2];
static int buffers[2], flag, rank;

static void test(void)
{
    MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
}

static void testall(void)
{
    MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
}

static void testany(void)
{
    int index;
    MPI_Testany(2, requests, &index, &flag, MPI_STATUS_IGNORE);
}

static void testsome(void)
{
    int indices[2];
    MPI_Testsome(2, requests, &flag, indices, MPI_STATUSES_IGNORE);
}

static void get_status(void)
{
    MPI_Request_get_status(requests[0], &flag, MPI_STATUS_IGNORE);
}

static void iprobe(void)
{
    MPI_Iprobe(0, NEVER, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
}

static void improbe(void)
{
    MPI_Message message;
    MPI_Improbe(0, NEVER, MPI_COMM_SELF, &flag, &message, MPI_STATUS_IGNORE);
}

static void test_and_iprobe(void)
{
    test();
    iprobe();
}

static void to_oneself(void)
{
    int sent = 1, got;
    MPI_Request request;
    MPI_Irecv(&got, 1, MPI_INT, 0, TAG, MPI_COMM_SELF, &request);
    MPI_Send(&sent, 1, MPI_INT, 0, TAG, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    flag = 0;
}

/* A message to the other rank, and one back. */
static void round_trip(void)
{
    int sent = 1, got;
    if (rank == 0)
        MPI_Send(&sent, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD);
    MPI_Recv(&got, 1, MPI_INT, 1 - rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1)
        MPI_Send(&sent, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD);
    flag = 0;
}

/* Many messages from rank 0 to rank 1, and one back. */
static void window(void)
{
    static int numbers[WINDOW];
    static MPI_Request all[WINDOW];
    for (int i = 0; i < WINDOW; i++)
        if (rank == 0)
            MPI_Isend(&numbers[i], 1, MPI_INT, 1, TAG, MPI_COMM_WORLD, &all[i]);
        else
            MPI_Irecv(&numbers[i], 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, &all[i]);
    MPI_Waitall(WINDOW, all, MPI_STATUSES_IGNORE);
    if (rank == 1)
        MPI_Send(&numbers[0], 1, MPI_INT, 0, TAG, MPI_COMM_WORLD);
    else
        MPI_Recv(&numbers[0], 1, MPI_INT, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    flag = 0;
}

static void allreduce(void)
{
    double out = 1, in;
    MPI_Allreduce(&out, &in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    flag = 0;
}

static const struct kind {
    const char *name;
    void (*round)(void);
} kinds[] = {
    {"test", test},
    {"testall", testall},
    {"testany", testany},
    {"testsome", testsome},
    {"get_status", get_status},
    {"iprobe", iprobe},
    {"improbe", improbe},
    {"test_and_iprobe", test_and_iprobe},
    {"to_oneself", to_oneself},
    {"round_trip", round_trip},
    {"window", window},
    {"allreduce", allreduce},
};

static void measure(const struct kind *kind)
{
    for (int i = 0; i < BEFORE + CALLS; i++) {
        if (i == BEFORE) {
            CALLGRIND_START_INSTRUMENTATION;
            CALLGRIND_ZERO_STATS;
        }
        kind->round();
        REQUIRE(!flag);
    }
    CALLGRIND_DUMP_STATS_AT(kind->name);
    CALLGRIND_STOP_INSTRUMENTATION;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int measured = 0, size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    /* What a rank alone tests. */
    int pending = size == 1 ? 2 : 0;
    for (int i = 0; i < pending; i++)
        MPI_Irecv(&buffers[i], 1, MPI_INT, 0, TAG + 1 + i, MPI_COMM_SELF, &requests[i]);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (int wanted = 1; wanted < argc; wanted++)
            if (!strcmp(argv[wanted], kinds[i].name)) {
                measure(&kinds[i]);
                measured++;
            }
    for (int i = 0; i < pending; i++)
        MPI_Send(&measured, 1, MPI_INT, 0, TAG + 1 + i, MPI_COMM_SELF);
    MPI_Waitall(pending, requests, MPI_STATUSES_IGNORE);
    REQUIRE(!pending || (buffers[0] == measured && buffers[1] == measured));
    MPI_Finalize();
    if (rank == 0)
        printf("%d kinds\nOK\n", measured);
    return 0;
}
