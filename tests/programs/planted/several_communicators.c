/* Two communicators of two ranks each. In the right one, ranks 2 and 3 of all, the second rank comes 20 ms late to each
 * MPI_Allreduce; in the left one nobody does.
 *
 * ranks: 4
 * default: rule=wait_at_nxn cause=3 site=REDUCE cause_site=REDUCE lost=0.20 victims=2 communicator=right
 * exact: rule=wait_at_nxn cause=3 site=REDUCE cause_site=REDUCE lost=0.20 victims=2 communicator=right count=10
 */
#include "planted.h"

int main(int argc, char **argv)
{
    double mine = 1, sum;
    MPI_Comm half;
    begin_together(&argc, &argv);
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &half);
    MPI_Comm_set_name(half, rank / 2 == 0 ? "left" : "right");
    for (int step = 0; step < 10; step++) {
        work(rank == 3 ? 25 : 5);
        MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, half); /* line REDUCE */
    }
    MPI_Comm_free(&half);
    return end();
}
