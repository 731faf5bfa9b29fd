/* Collective operations made by hand on four ranks, ten times each: rank 0 sends all the same from one buffer, sends each its part of
 * another, and receives from each into a part of a third. Then what is none: a ring, and a master that answers one worker at a time.
 *
 * ranks: 4
 */
#include "../check.h"

enum { RANKS = 4, LOOPS = 10, DOUBLES = 512, TAG = 1 };

static double same[DOUBLES], parts[RANKS][DOUBLES], own[DOUBLES], other[DOUBLES];

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank = world_rank();
    REQUIRE(world_size() == RANKS);
    for (int loop = 0; loop < LOOPS; loop++) {
        if (rank == 0) {
            for (int peer = 1; peer < RANKS; peer++)
                MPI_Send(same, DOUBLES, MPI_DOUBLE, peer, TAG, MPI_COMM_WORLD); /* line BCAST */
            for (int peer = 1; peer < RANKS; peer++)
                MPI_Send(parts[peer], DOUBLES, MPI_DOUBLE, peer, TAG, MPI_COMM_WORLD); /* line SCATTER */
            for (int peer = 1; peer < RANKS; peer++)
                MPI_Recv(parts[peer], DOUBLES, MPI_DOUBLE, peer, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* line GATHER */
        } else {
            MPI_Recv(own, DOUBLES, MPI_DOUBLE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Recv(own, DOUBLES, MPI_DOUBLE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(own, DOUBLES, MPI_DOUBLE, 0, TAG, MPI_COMM_WORLD);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    for (int loop = 0; loop < LOOPS; loop++) {
        MPI_Sendrecv(own, DOUBLES, MPI_DOUBLE, (rank + 1) % RANKS, TAG, other, DOUBLES, MPI_DOUBLE, (rank + RANKS - 1) % RANKS, TAG,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 0) {
            for (int peer = 1; peer < RANKS; peer++) {
                MPI_Recv(other, DOUBLES, MPI_DOUBLE, peer, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                MPI_Send(own, DOUBLES, MPI_DOUBLE, peer, TAG, MPI_COMM_WORLD);
            }
        } else {
            MPI_Send(own, DOUBLES, MPI_DOUBLE, 0, TAG, MPI_COMM_WORLD);
            MPI_Recv(other, DOUBLES, MPI_DOUBLE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    /* Where there is an argument: messages that are hidden behind work, in part. */
    for (int loop = 0; loop < LOOPS && argc > 1; loop++) {
        MPI_Request requests[2];
        MPI_Irecv(other, DOUBLES, MPI_DOUBLE, (rank + RANKS - 1) % RANKS, TAG, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(own, DOUBLES, MPI_DOUBLE, (rank + 1) % RANKS, TAG, MPI_COMM_WORLD, &requests[1]);
        for (double end = MPI_Wtime() + 1e-3; MPI_Wtime() < end;) {
        }
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    return finish();
}
