/* The ranks of a communicator are others than those of all: in that of ranks 3, 2, 1 and 0, each receives from the one
 * before it, and its rank 0, which is rank 3 of all, sends every 20 ms.
 *
 * ranks: 4
 * default: rule=late_sender cause=3 site=RECV cause_site=SEND lost=1.20 victims=0,1,2 communicator=backwards
 * exact: rule=late_standard_send cause=3 site=RECV cause_site=SEND lost=1.20 victims=0,1,2 communicator=backwards
 */
#include "planted.h"

int main(int argc, char **argv)
{
    double value = 0;
    MPI_Comm backwards;
    begin_together(&argc, &argv);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &backwards);
    MPI_Comm_set_name(backwards, "backwards");
    int place = size - 1 - rank;
    for (int step = 0; step < 20; step++) {
        if (place == 0)
            work(20);
        else
            MPI_Recv(&value, 1, MPI_DOUBLE, place - 1, 0, backwards, MPI_STATUS_IGNORE); /* line RECV */
        if (place + 1 < size)
            MPI_Send(&value, 1, MPI_DOUBLE, place + 1, 0, backwards); /* line SEND */
    }
    MPI_Comm_free(&backwards);
    return end();
}
