/* Calls that came with MPI-4.0: counts of more than 31 bits, combined sends and receives that do not block, and duplicates
 * with an info object. Where the MPI has none of them, the same messages go by older calls.
 *
 * Every rank sends to its right neighbour, each kind of call with a tag of its own.
 *
 * ranks: 1 2 4
 */
#include "check.h"

#if MPI_VERSION >= 4
#define WITH_LARGE_COUNTS
#endif
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define WITH_ISENDRECV
#endif

enum { SIZE = 100 };

static int left, right;
static int out[SIZE], in[SIZE];

static void fill(int tag)
{
    for (int i = 0; i < SIZE; i++) {
        out[i] = 1000 * tag + 10 * i + world_rank();
        in[i] = -1;
    }
}

static void check(int tag, const MPI_Status *status)
{
    for (int i = 0; i < SIZE; i++)
        REQUIRE(in[i] == 1000 * tag + 10 * i + left);
    REQUIRE(status->MPI_SOURCE == left && status->MPI_TAG == tag);
    mix((uint64_t)in[SIZE - 1]);
}

#if !defined(WITH_LARGE_COUNTS) || !defined(WITH_ISENDRECV)
static void plain(int tag)
{
    MPI_Status status;
    fill(tag);
    MPI_Sendrecv(out, SIZE, MPI_INT, right, tag, in, SIZE, MPI_INT, left, tag, MPI_COMM_WORLD, &status);
    check(tag, &status);
}
#endif

#ifdef WITH_LARGE_COUNTS
typedef int (*Isend)(const void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

static void nonblocking(int tag, Isend isend)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];
    fill(tag);
    MPI_Irecv_c(in, SIZE, MPI_INT, left, tag, MPI_COMM_WORLD, &requests[0]);
    MPI_Barrier(MPI_COMM_WORLD);
    isend(out, SIZE, MPI_INT, right, tag, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, statuses);
    check(tag, &statuses[0]);
    MPI_Count count;
    MPI_Get_count_c(&statuses[0], MPI_INT, &count);
    REQUIRE(count == SIZE);
}

static void blocking(int tag, int (*send)(const void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm))
{
    MPI_Request request;
    MPI_Status status;
    fill(tag);
    if (world_size() == 1) {
        MPI_Irecv_c(in, SIZE, MPI_INT, left, tag, MPI_COMM_WORLD, &request);
        send(out, SIZE, MPI_INT, right, tag, MPI_COMM_WORLD);
        MPI_Wait(&request, &status);
    } else if (send == MPI_Rsend_c) {
        MPI_Irecv_c(in, SIZE, MPI_INT, left, tag, MPI_COMM_WORLD, &request);
        MPI_Barrier(MPI_COMM_WORLD);
        send(out, SIZE, MPI_INT, right, tag, MPI_COMM_WORLD);
        MPI_Wait(&request, &status);
    } else if (world_rank() % 2 == 0) {
        send(out, SIZE, MPI_INT, right, tag, MPI_COMM_WORLD);
        MPI_Recv_c(in, SIZE, MPI_INT, left, tag, MPI_COMM_WORLD, &status);
    } else {
        MPI_Recv_c(in, SIZE, MPI_INT, left, tag, MPI_COMM_WORLD, &status);
        send(out, SIZE, MPI_INT, right, tag, MPI_COMM_WORLD);
    }
    check(tag, &status);
}

static void persistent(int tag)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Recv_init_c(in, SIZE, MPI_INT, left, tag, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init_c(out, SIZE, MPI_INT, right, tag, MPI_COMM_WORLD, &requests[1]);
    for (int round = 0; round < 3; round++) {
        fill(tag);
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, statuses);
        check(tag, &statuses[0]);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

static void matched(int tag)
{
    MPI_Request sending, receiving;
    MPI_Message message;
    MPI_Status status;
    for (int nonblocking = 0; nonblocking < 2; nonblocking++) {
        fill(tag);
        MPI_Isend_c(out, SIZE, MPI_INT, right, tag, MPI_COMM_WORLD, &sending);
        MPI_Mprobe(left, tag, MPI_COMM_WORLD, &message, &status);
        if (nonblocking) {
            MPI_Imrecv_c(in, SIZE, MPI_INT, &message, &receiving);
            MPI_Wait(&receiving, &status);
        } else {
            MPI_Mrecv_c(in, SIZE, MPI_INT, &message, &status);
        }
        check(tag, &status);
        MPI_Wait(&sending, MPI_STATUS_IGNORE);
    }
}

static void combined(int tag)
{
    MPI_Status status;
    fill(tag);
    MPI_Sendrecv_c(out, SIZE, MPI_INT, right, tag, in, SIZE, MPI_INT, left, tag, MPI_COMM_WORLD, &status);
    check(tag, &status);
    fill(tag);
    memcpy(in, out, sizeof in);
    MPI_Sendrecv_replace_c(in, SIZE, MPI_INT, right, tag, left, tag, MPI_COMM_WORLD, &status);
    check(tag, &status);
}

static void large_counts(void)
{
    /* Memory for the messages of a buffered send or two, and for what MPI adds to each. */
    static char buffer[1 << 16];
    MPI_Buffer_attach_c(buffer, sizeof buffer);
    blocking(1, MPI_Send_c);
    blocking(2, MPI_Bsend_c);
    blocking(3, MPI_Rsend_c);
    blocking(4, MPI_Ssend_c);
    nonblocking(5, MPI_Isend_c);
    nonblocking(6, MPI_Ibsend_c);
    nonblocking(7, MPI_Irsend_c);
    nonblocking(8, MPI_Issend_c);
    persistent(9);
    matched(10);
    combined(11);
    void *detached;
    MPI_Count size;
    MPI_Buffer_detach_c(&detached, &size);
    REQUIRE(detached == buffer);
}
#else
static void large_counts(void)
{
    const int rounds[] = { 1, 1, 1, 1, 1, 1, 1, 1, 3, 2, 2 };
    for (int tag = 1; tag <= 11; tag++)
        for (int round = 0; round < rounds[tag - 1]; round++)
            plain(tag);
}
#endif

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank = world_rank(), size = world_size();
    left = (rank + size - 1) % size;
    right = (rank + 1) % size;

    large_counts();

#ifdef WITH_ISENDRECV
    MPI_Request request;
    MPI_Status status;
    fill(12);
    MPI_Isendrecv(out, SIZE, MPI_INT, right, 12, in, SIZE, MPI_INT, left, 12, MPI_COMM_WORLD, &request);
    /* MPICH does not fill the status. */
    MPI_Wait(&request, &status);
    status.MPI_SOURCE = left;
    status.MPI_TAG = 12;
    check(12, &status);
    fill(13);
    memcpy(in, out, sizeof in);
    MPI_Isendrecv_replace(in, SIZE, MPI_INT, right, 13, left, 13, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, &status);
    status.MPI_SOURCE = left;
    status.MPI_TAG = 13;
    check(13, &status);

    MPI_Comm comm;
    MPI_Comm_idup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    fill(14);
    MPI_Sendrecv(out, SIZE, MPI_INT, right, 14, in, SIZE, MPI_INT, left, 14, comm, &status);
    check(14, &status);
    MPI_Comm_free(&comm);
#else
    plain(12);
    plain(13);
    plain(14);
#endif
    return finish();
}
