/* Large eager messages whose receives have been posted before, while both ranks work as long.
 *
 * ranks: 2
 */
#include "../planted/planted.h"

enum { MESSAGES = 20, BYTES = 4000 };

int main(int argc, char **argv)
{
    static char in[MESSAGES][BYTES], out[BYTES];
    MPI_Request requests[2 * MESSAGES];
    begin_together(&argc, &argv);
    for (int step = 0; step < 20; step++) {
        for (int i = 0; i < MESSAGES; i++)
            MPI_Irecv(in[i], BYTES, MPI_CHAR, !rank, i, MPI_COMM_WORLD, &requests[i]);
        work(20);
        for (int i = 0; i < MESSAGES; i++)
            MPI_Isend(out, BYTES, MPI_CHAR, !rank, i, MPI_COMM_WORLD, &requests[MESSAGES + i]);
        MPI_Waitall(2 * MESSAGES, requests, MPI_STATUSES_IGNORE);
    }
    return end();
}
