/* Waits for messages in one way, or, with "right" after it, does the same without the mistake and ends.
 *
 * stuck_messages CASE [right]
 *
 * Each case is one line here: its name, how many ranks, the kind of what is found, who waits, for whom, and words of the sentence.
 * The lines of the calls that wait have the name of the case behind them.
 *
 *   receive_receive    2  cycle      0,1      -    tag 1 of rank 1
 *   ring               5  cycle      0,1,2,3,4 -   5 ranks wait for each other in a circle
 *   ssend_ssend        2  cycle      0,1      -    with a message for rank 1 with tag 1
 *   send_send          2  cycle      0,1      -    ends only as long as the MPI buffers the message
 *   barrier_receive    3  cycle      0,1      -    MPI_Barrier
 *   sub_receive        4  cycle      0,3      -    on reversed
 *   itself             2  cycle      0        -    it waits for itself
 *   waitall            3  cycle      0,2      -    MPI_Waitall
 *   row                3  outside    0        2    MPI_Waitall
 *   waitany            3  cycle      0,1      -    and so do all others who could answer
 *   any_source         4  cycle      0,1      -    of any rank
 *   persistent         2  cycle      0,1      -    MPI_Wait
 *   not_started        2  cycle      0,1      -    (rank 1 has prepared a send with MPI_Send_init at
 *   threads            2  cycle      0,1      -    tag 1 of rank 1
 *   tag                2  differs    0        1    the two differ in the tag alone
 *   communicator       2  differs    0        1    the two differ in the communicator alone
 *   sender             3  differs    0        1    the two differ in the sender alone
 *   probe              2  differs    0        1    the two differ in the tag alone
 *   sendrecv           3  differs    0        2    the two differ in the sender alone
 *   finalized          2  ended      0        1    rank 1: it has called MPI_Finalize
 *   computes           2  outside    0        1    rank 1: it has been in no call that is counted
 *   elsewhere          3  elsewhere  0        1    rank 1: it is in MPI_Recv
 *   isend              2  outside    0        1    no receive asks for it
 *   roots              2  mismatch   0,1      -    root 1
 */
#define _POSIX_C_SOURCE 200809L
#include "../check.h"
#include <time.h>

enum { LARGE = 1 << 22 };

static volatile int never = 0;
static char buffer[LARGE], other_buffer[LARGE];

static void compute(void)
{
    while (!never)
        nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
}

static void receive_at(int source, int tag, MPI_Comm comm)
{
    MPI_Recv(buffer, LARGE, MPI_CHAR, source, tag, comm, MPI_STATUS_IGNORE);
}

static void send_to(int peer, int tag, MPI_Comm comm)
{
    MPI_Send(other_buffer, 8, MPI_CHAR, peer, tag, comm);
}

int main(int argc, char **argv)
{
    int level, argument = argc > 1 && strcmp(argv[1], "threads") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
    MPI_Init_thread(&argc, &argv, argument, &level);
    REQUIRE(argc == 2 || argc == 3);
    int rank = world_rank(), size = world_size(), right = argc == 3, other = 1 - rank;
    const char *kind = argv[1];
    MPI_Comm world = MPI_COMM_WORLD, second, reversed;
    MPI_Comm_dup(world, &second);
    MPI_Comm_set_name(second, "second");
    MPI_Comm_split(world, 0, size - rank, &reversed);
    MPI_Comm_set_name(reversed, "reversed");
    MPI_Status *none = MPI_STATUS_IGNORE;
    char *b = buffer, *o = other_buffer;
#define IS(name) (strcmp(kind, name) == 0)
    if (IS("receive_receive") || IS("threads")) {
        if (right && rank == 0)
            send_to(1, 1, world);
        MPI_Recv(b, 8, MPI_CHAR, other, 1, world, none); /* receive_receive threads */
        if (!right || rank == 1)
            send_to(other, 1, world);
    } else if (IS("ring")) {
        int left = (rank + size - 1) % size, next = (rank + 1) % size;
        if (right)
            send_to(next, 1, world);
        MPI_Recv(b, 8, MPI_CHAR, left, 1, world, none); /* ring */
        if (!right)
            send_to(next, 1, world);
    } else if (IS("ssend_ssend")) {
        if (right && rank == 1)
            receive_at(0, 1, world);
        MPI_Ssend(o, 8, MPI_CHAR, other, 1, world); /* ssend_ssend */
        if (!right || rank == 0)
            receive_at(other, 1, world);
    } else if (IS("send_send")) {
        MPI_Send(o, right ? 8 : LARGE, MPI_CHAR, other, 1, world); /* send_send */
        receive_at(other, 1, world);
    } else if (IS("barrier_receive")) {
        if (rank == 1 && !right)
            MPI_Recv(b, 8, MPI_CHAR, 0, 1, world, none);
        MPI_Barrier(world); /* barrier_receive */
        if (rank == 0)
            send_to(1, 1, world);
        if (rank == 1 && right)
            receive_at(0, 1, world);
    } else if (IS("sub_receive")) {
        /* Rank 0 of the communicator is rank 3 of the world. */
        if (right && rank == 0)
            send_to(0, 1, reversed);
        if (rank == 0 || rank == 3)
            MPI_Recv(b, 8, MPI_CHAR, rank == 0 ? 0 : 3, 1, reversed, none); /* sub_receive */
        if (rank == 3 || (rank == 0 && !right))
            send_to(rank == 0 ? 0 : 3, 1, reversed);
    } else if (IS("itself")) {
        if (rank == 0) {
            if (right)
                send_to(0, 1, world);
            MPI_Recv(b, 8, MPI_CHAR, 0, 1, world, none); /* itself */
        }
    } else if (IS("waitall")) {
        MPI_Request requests[2];
        if (rank == 0) {
            if (right)
                send_to(2, 1, world);
            MPI_Irecv(b, 8, MPI_CHAR, 1, 1, world, &requests[0]);
            MPI_Irecv(o, 8, MPI_CHAR, 2, MPI_ANY_TAG, world, &requests[1]);
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE); /* waitall */
            if (!right)
                send_to(2, 1, world);
        } else {
            if (rank == 2)
                MPI_Recv(b, 8, MPI_CHAR, 0, 1, world, none);
            send_to(0, 1, world);
        }
    } else if (IS("row")) {
        MPI_Request requests[2];
        if (rank == 0) {
            MPI_Irecv(b, 8, MPI_CHAR, 1, 1, world, &requests[0]);
            MPI_Irecv(o, 8, MPI_CHAR, 2, 1, world, &requests[1]);
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE); /* row */
        } else {
            if (rank == 2 && !right)
                compute();
            send_to(0, 1, world);
        }
    } else if (IS("waitany")) {
        MPI_Request requests[2];
        if (rank == 0) {
            int which;
            for (int peer = 1; right && peer < 3; peer++)
                send_to(peer, 1, world);
            MPI_Irecv(b, 8, MPI_CHAR, 1, 1, world, &requests[0]);
            MPI_Irecv(o, 8, MPI_CHAR, 2, 1, world, &requests[1]);
            MPI_Waitany(2, requests, &which, none); /* waitany */
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        } else {
            MPI_Recv(b, 8, MPI_CHAR, 0, 1, world, none);
            send_to(0, 1, world);
        }
    } else if (IS("any_source")) {
        if (rank == 0) {
            for (int peer = 1; right && peer < size; peer++)
                send_to(peer, 1, world);
            for (int peer = 1; peer < size; peer++)
                MPI_Recv(b, 8, MPI_CHAR, MPI_ANY_SOURCE, 1, world, none); /* any_source */
        } else {
            MPI_Recv(b, 8, MPI_CHAR, 0, 1, world, none);
            send_to(0, 1, world);
        }
    } else if (IS("persistent")) {
        MPI_Request request;
        MPI_Recv_init(b, 8, MPI_CHAR, other, 1, world, &request);
        MPI_Start(&request);
        if (right)
            send_to(other, 1, world);
        MPI_Wait(&request, none); /* persistent */
        if (!right)
            send_to(other, 1, world);
        MPI_Request_free(&request);
    } else if (IS("not_started")) {
        MPI_Request request;
        if (rank == 1) {
            MPI_Send_init(o, 8, MPI_CHAR, 0, 1, world, &request);
            if (right)
                MPI_Start(&request);
            MPI_Wait(&request, none);
            MPI_Request_free(&request);
        } else {
            MPI_Recv(b, 8, MPI_CHAR, 1, 1, world, none); /* not_started */
        }
        MPI_Barrier(world);
    } else if (IS("tag")) {
        if (rank == 1)
            send_to(0, right ? 8 : 7, second);
        else
            MPI_Recv(b, 8, MPI_CHAR, 1, 8, second, none); /* tag */
        MPI_Barrier(world);
    } else if (IS("communicator")) {
        if (rank == 1)
            send_to(0, 8, right ? world : second);
        else
            MPI_Recv(b, 8, MPI_CHAR, 1, 8, world, none); /* communicator */
        MPI_Barrier(world);
    } else if (IS("sender")) {
        if (rank == 1)
            send_to(0, 8, world);
        else if (rank == 0)
            MPI_Recv(b, 8, MPI_CHAR, right ? 1 : 2, 8, world, none); /* sender */
        MPI_Barrier(world);
    } else if (IS("probe")) {
        if (rank == 1) {
            send_to(0, right ? 8 : 7, world);
        } else {
            MPI_Probe(1, 8, world, none); /* probe */
            receive_at(1, 8, world);
        }
        MPI_Barrier(world);
    } else if (IS("sendrecv")) {
        int left = (rank + size - 1) % size, next = (rank + 1) % size;
        MPI_Sendrecv(o, 8, MPI_CHAR, next, 1, b, 8, MPI_CHAR, right ? left : next, 1, world, none); /* sendrecv */
    } else if (IS("finalized")) {
        if (rank == 1 && right)
            send_to(0, 1, world);
        if (rank == 0)
            MPI_Recv(b, 8, MPI_CHAR, 1, 1, world, none); /* finalized */
        if (!right) {
            MPI_Finalize();
            return 0;
        }
    } else if (IS("computes")) {
        if (rank == 1 && !right)
            compute();
        if (rank == 1)
            send_to(0, 1, world);
        else
            MPI_Recv(b, 8, MPI_CHAR, 1, 1, world, none); /* computes */
    } else if (IS("isend")) {
        MPI_Request request;
        if (rank == 1 && !right)
            compute();
        if (rank == 1) {
            receive_at(0, 1, world);
        } else {
            MPI_Isend(o, LARGE, MPI_CHAR, 1, 1, world, &request);
            MPI_Wait(&request, none); /* isend */
        }
    } else if (IS("elsewhere")) {
        if (rank == 2 && !right)
            compute();
        if (rank == 2)
            send_to(1, 1, world);
        if (rank == 1) {
            receive_at(2, 1, world);
            send_to(0, 1, world);
        }
        if (rank == 0)
            MPI_Recv(b, 8, MPI_CHAR, 1, 1, world, none); /* elsewhere */
    } else if (IS("roots")) {
        MPI_Bcast(b, LARGE, MPI_CHAR, right ? 0 : other, world); /* roots */
    } else {
        REQUIRE(!"a case");
    }
    return finish();
}
