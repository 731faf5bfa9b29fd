/* A pipeline whose stages take as long, each of which has something else to do until its first message is there, and after its
 * last one: nobody waits.
 *
 * ranks: 4
 */
#include "../planted/planted.h"

int main(int argc, char **argv)
{
    double value = 0;
    begin_together(&argc, &argv);
    work(21 * rank);
    for (int step = 0; step < 20; step++) {
        if (rank > 0)
            MPI_Recv(&value, 1, MPI_DOUBLE, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        work(20);
        if (rank + 1 < size)
            MPI_Send(&value, 1, MPI_DOUBLE, rank + 1, 0, MPI_COMM_WORLD);
    }
    work(21 * (size - 1 - rank));
    return end();
}
