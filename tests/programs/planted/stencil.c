/* A stencil on 4 x 4 ranks, of which rank 5 is three times slower than the others: 15 ms for a step instead of 5.
 *
 * A rank waits 10 ms in each step, from the step on that is as far from the first as the rank is from rank 5. Ranks 9 and 4,
 * which are beside it, are no cause.
 *
 * ranks: 16
 * default: rule=late_sender cause=5 site=WAIT cause_site=SEND lost=2.83 victims=0,1,2,3,4,6,7,8,9,10,11,12,13,14,15
 * exact: rule=wait_at_receiver_isend cause=5 site=WAIT cause_site=SEND lost=2.83 victims=0,1,2,3,4,6,7,8,9,10,11,12,13,14,15
 * tolerance: 0.10 sixteen ranks on few processors come a little late by themselves
 */
#include "planted.h"

enum { SIDES = 4, CELLS = 64 };

int main(int argc, char **argv)
{
    static double out[SIDES][CELLS], in[SIDES][CELLS];
    MPI_Request requests[2 * SIDES];
    begin_together(&argc, &argv);
    int row = rank / 4, column = rank % 4;
    const int neighbours[SIDES] = {row > 0 ? rank - 4 : MPI_PROC_NULL, row < 3 ? rank + 4 : MPI_PROC_NULL,
                                   column > 0 ? rank - 1 : MPI_PROC_NULL, column < 3 ? rank + 1 : MPI_PROC_NULL};
    for (int step = 0; step < 20; step++) {
        work(rank == 5 ? 15 : 5);
        for (int side = 0; side < SIDES; side++) {
            MPI_Irecv(in[side], CELLS, MPI_DOUBLE, neighbours[side], 0, MPI_COMM_WORLD, &requests[side]);
            MPI_Isend(out[side], CELLS, MPI_DOUBLE, neighbours[side], 0, MPI_COMM_WORLD, /* line SEND */
                      &requests[SIDES + side]);
        }
        MPI_Waitall(2 * SIDES, requests, MPI_STATUSES_IGNORE); /* line WAIT */
    }
    return end();
}
