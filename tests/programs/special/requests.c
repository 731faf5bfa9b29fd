/* Requests of one kind, ROUNDS of them between two ranks: rank 1 receives what rank 0 sends. For counting what is raised of each.
 *
 * arguments: the kind, bytes of a message
 */
#include "../check.h"

enum { ROUNDS = 10, TAG = 7 };

static char *sent, *received;
static int rank, bytes;

static void blocking(void)
{
    if (rank == 0)
        MPI_Send(sent, bytes, MPI_CHAR, 1, TAG, MPI_COMM_WORLD);
    else
        MPI_Recv(received, bytes, MPI_CHAR, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void wait_for(MPI_Request *request)
{
    MPI_Wait(request, MPI_STATUS_IGNORE);
}

static void nonblocking(void)
{
    MPI_Request request;
    if (rank == 0)
        MPI_Isend(sent, bytes, MPI_CHAR, 1, TAG, MPI_COMM_WORLD, &request);
    else
        MPI_Irecv(received, bytes, MPI_CHAR, 0, TAG, MPI_COMM_WORLD, &request);
    wait_for(&request);
}

static void synchronous(void)
{
    MPI_Request request;
    if (rank == 0)
        MPI_Issend(sent, bytes, MPI_CHAR, 1, TAG, MPI_COMM_WORLD, &request);
    else
        MPI_Irecv(received, bytes, MPI_CHAR, 0, TAG, MPI_COMM_WORLD, &request);
    wait_for(&request);
}

static void combined(void)
{
    MPI_Sendrecv(sent, bytes, MPI_CHAR, 1 - rank, TAG, received, bytes, MPI_CHAR, 1 - rank, TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

static void probed(void)
{
    MPI_Message message;
    MPI_Status status;
    if (rank == 0) {
        MPI_Send(sent, bytes, MPI_CHAR, 1, TAG, MPI_COMM_WORLD);
        return;
    }
    MPI_Mprobe(0, TAG, MPI_COMM_WORLD, &message, &status);
    MPI_Mrecv(received, bytes, MPI_CHAR, &message, &status);
}

static void cancelled(void)
{
    MPI_Request request;
    if (rank == 1) {
        MPI_Irecv(received, bytes, MPI_CHAR, 0, TAG, MPI_COMM_WORLD, &request);
        MPI_Cancel(&request);
        wait_for(&request);
    }
}

static void freed(void)
{
    MPI_Request request;
    if (rank == 0) {
        MPI_Send(sent, bytes, MPI_CHAR, 1, TAG, MPI_COMM_WORLD);
    } else {
        MPI_Irecv(received, bytes, MPI_CHAR, 0, TAG, MPI_COMM_WORLD, &request);
        MPI_Request_free(&request);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static MPI_Request kept;

static void persistent(void)
{
    MPI_Start(&kept);
    MPI_Wait(&kept, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    static const struct { const char *name; void (*run)(void); } kinds[] = {
        {"blocking", blocking}, {"nonblocking", nonblocking}, {"synchronous", synchronous}, {"combined", combined},
        {"probed", probed},     {"cancelled", cancelled},     {"freed", freed},             {"persistent", persistent},
    };
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    REQUIRE(argc == 3);
    bytes = atoi(argv[2]);
    sent = calloc(1, bytes);
    received = calloc(1, bytes);
    REQUIRE(sent && received);
    int keeps = strcmp(argv[1], "persistent") == 0, known = 0;
    if (keeps && rank == 0)
        MPI_Send_init(sent, bytes, MPI_CHAR, 1, TAG, MPI_COMM_WORLD, &kept);
    else if (keeps)
        MPI_Recv_init(received, bytes, MPI_CHAR, 0, TAG, MPI_COMM_WORLD, &kept);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        for (int round = 0; strcmp(argv[1], kinds[i].name) == 0 && round < ROUNDS; round++) {
            kinds[i].run();
            known = 1;
        }
    }
    if (keeps)
        MPI_Request_free(&kept);
    REQUIRE(known);
    return finish();
}
