/* Exchanges as programs have them, each by its name, with messages between different ranks alone. Four ranks.
 *
 * exchanges NAME [TIMES]: TIMES is 3 if nothing is given.
 *
 *   halo            a grid of 2 x 2: MPI_Isend and MPI_Irecv along both axes
 *   transpose       as NPB's FT and IS: each sends to each, blocks of different sizes, MPI_Sendrecv
 *   wavefront       as NPB's LU: from the first rank to the last and back, MPI_Send and MPI_Recv
 *   rows            on communicators of the rows and columns of a grid
 *   groups          on an intercommunicator between both halves
 *   replace         MPI_Sendrecv_replace around a ring
 *   matched         MPI_Mprobe and MPI_Improbe, then MPI_Mrecv and MPI_Imrecv
 *   persistent      MPI_Start and MPI_Startall: each rank starts two sends of 100 and 20 bytes to the next, TIMES times
 *   partitioned     each rank starts a send of 4 partitions of 75 bytes to the next, TIMES times, where the MPI has such sends
 *   window          2 MPI_Put of 800 bytes to the next and 1 MPI_Get of 240 bytes from it, TIMES times, between fences
 */
#include "../check.h"

enum { MOST = 4096 };

static char out[MOST], in[MOST];
static int rank, size, next, before, times;

static void halo(void)
{
    for (int axis = 1; axis <= 2; axis++) {
        MPI_Request requests[2];
        MPI_Irecv(in, MOST, MPI_CHAR, rank ^ axis, axis, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(out, 1000 * axis, MPI_CHAR, rank ^ axis, axis, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
}

static void transpose(void)
{
    for (int step = 1; step < size; step++)
        MPI_Sendrecv(out, 100 * rank + step, MPI_CHAR, rank ^ step, 3, in, MOST, MPI_CHAR, rank ^ step, 3, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
}

static void wavefront(void)
{
    if (rank > 0)
        MPI_Recv(in, MOST, MPI_CHAR, rank - 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank < size - 1) {
        MPI_Send(out, 40 + rank, MPI_CHAR, rank + 1, 4, MPI_COMM_WORLD);
        MPI_Recv(in, MOST, MPI_CHAR, rank + 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (rank > 0)
        MPI_Send(out, 0, MPI_CHAR, rank - 1, 5, MPI_COMM_WORLD);
}

static void rows(void)
{
    static MPI_Comm comms[2] = {MPI_COMM_NULL, MPI_COMM_NULL};
    if (comms[0] == MPI_COMM_NULL) {
        MPI_Comm_split(MPI_COMM_WORLD, rank / 2, -rank, &comms[0]);
        MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comms[1]);
    }
    for (int i = 0; i < 2; i++) {
        int here;
        MPI_Comm_rank(comms[i], &here);
        MPI_Sendrecv(out, 70 + 7 * i, MPI_CHAR, 1 - here, 6, in, MOST, MPI_CHAR, 1 - here, 6, comms[i], MPI_STATUS_IGNORE);
    }
}

static MPI_Comm half = MPI_COMM_NULL, between = MPI_COMM_NULL;

static void groups(void)
{
    int here;
    MPI_Comm_rank(half, &here);
    MPI_Sendrecv(out, 90 + rank, MPI_CHAR, 1 - here, 7, in, MOST, MPI_CHAR, 1 - here, 7, between, MPI_STATUS_IGNORE);
}

static void replace(void)
{
    MPI_Sendrecv_replace(out, 333, MPI_CHAR, next, 8, before, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void matched(void)
{
    MPI_Request sends[2], receive;
    MPI_Message message;
    MPI_Isend(out, 11, MPI_CHAR, next, 9, MPI_COMM_WORLD, &sends[0]);
    MPI_Isend(out, 2222, MPI_CHAR, next, 10, MPI_COMM_WORLD, &sends[1]);
    MPI_Mprobe(before, 9, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(in, MOST, MPI_CHAR, &message, MPI_STATUS_IGNORE);
    for (int found = 0; !found;)
        MPI_Improbe(before, 10, MPI_COMM_WORLD, &found, &message, MPI_STATUS_IGNORE);
    MPI_Imrecv(in, MOST, MPI_CHAR, &message, &receive);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    MPI_Waitall(2, sends, MPI_STATUSES_IGNORE);
}

static MPI_Request starts[4];

static void persistent(void)
{
    MPI_Startall(3, starts);
    MPI_Start(&starts[3]);
    MPI_Waitall(4, starts, MPI_STATUSES_IGNORE);
}

enum { PARTITIONS = 4, PART = 75 };

#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
static void init_partitioned(void)
{
    MPI_Psend_init(out, PARTITIONS, PART, MPI_CHAR, next, 11, MPI_COMM_WORLD, MPI_INFO_NULL, &starts[0]);
    MPI_Precv_init(in, PARTITIONS, PART, MPI_CHAR, before, 11, MPI_COMM_WORLD, MPI_INFO_NULL, &starts[1]);
}

static void partitioned(void)
{
    static char round;
    round++;
    MPI_Startall(2, starts);
    memset(out, 10 * round + rank, PARTITIONS * PART);
    MPI_Pready(2, starts[0]);
    MPI_Pready_range(0, 1, starts[0]);
    MPI_Pready_list(1, (int[]){3}, starts[0]);
    MPI_Waitall(2, starts, MPI_STATUSES_IGNORE);
    for (int i = 0; i < PARTITIONS * PART; i++)
        REQUIRE(in[i] == (char)(10 * round + before));
}
#else
static void init_partitioned(void)
{
    REQUIRE(!"this MPI has partitioned messages");
}

static void partitioned(void)
{
}
#endif

static MPI_Win win;

static void window(void)
{
    MPI_Win_fence(0, win);
    MPI_Put(out, 800, MPI_CHAR, next, 0, 800, MPI_CHAR, win);
    MPI_Put(out, 800, MPI_CHAR, next, 800, 800, MPI_CHAR, win);
    MPI_Get(out + 1000, 240, MPI_CHAR, next, 1700, 240, MPI_CHAR, win);
    MPI_Win_fence(0, win);
}

static const struct {
    const char *name;
    void (*function)(void);
} EXCHANGES[] = {{"halo", halo},       {"transpose", transpose}, {"wavefront", wavefront},   {"rows", rows},    {"groups", groups},
                 {"replace", replace}, {"matched", matched},     {"persistent", persistent}, {"window", window},
                 {"partitioned", partitioned}};

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    rank = world_rank();
    size = world_size();
    next = (rank + 1) % size;
    before = (rank + size - 1) % size;
    times = argc > 2 ? atoi(argv[2]) : 3;
    REQUIRE(size == 4 && argc > 1);
    const char *name = argv[1];
    if (strcmp(name, "groups") == 0) {
        MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &half);
        MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank < 2 ? 2 : 0, 1, &between);
    }
    if (strcmp(name, "persistent") == 0) {
        MPI_Send_init(out, 100, MPI_CHAR, next, 1, MPI_COMM_WORLD, &starts[0]);
        MPI_Recv_init(in, 100, MPI_CHAR, before, 1, MPI_COMM_WORLD, &starts[1]);
        MPI_Recv_init(in + 200, 100, MPI_CHAR, before, 2, MPI_COMM_WORLD, &starts[2]);
        MPI_Send_init(out, 20, MPI_CHAR, next, 2, MPI_COMM_WORLD, &starts[3]);
    }
    if (strcmp(name, "partitioned") == 0)
        init_partitioned();
    if (strcmp(name, "window") == 0)
        MPI_Win_create(in, MOST, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    int is_known = 0;
    for (unsigned i = 0; i < sizeof EXCHANGES / sizeof *EXCHANGES; i++)
        if (strcmp(name, EXCHANGES[i].name) == 0)
            for (is_known = 1; is_known <= times; is_known++)
                EXCHANGES[i].function();
    REQUIRE(is_known || times == 0);
    if (strcmp(name, "partitioned") == 0)
        for (int i = 0; i < 2; i++)
            MPI_Request_free(&starts[i]);
    if (strcmp(name, "window") == 0)
        MPI_Win_free(&win);
    return finish();
}
