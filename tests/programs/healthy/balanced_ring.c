/* Each rank passes something to the right, around a ring, and all work as long.
 *
 * ranks: 4
 */
#include "../planted/planted.h"

int main(int argc, char **argv)
{
    double out = 1, in;
    begin_together(&argc, &argv);
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    for (int step = 0; step < 10; step++) {
        work(50);
        MPI_Sendrecv(&out, 1, MPI_DOUBLE, right, 0, &in, 1, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return end();
}
