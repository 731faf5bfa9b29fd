/* Steps that take a little longer at random, by up to half a percent, on any rank: there is none that is slow.
 *
 * ranks: 4
 */
#include "../planted/planted.h"

int main(int argc, char **argv)
{
    double out = 1, in;
    begin_together(&argc, &argv);
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    srand(7 * (unsigned)rank + 1);
    for (int step = 0; step < 10; step++) {
        work(50 + 0.25 * rand() / RAND_MAX);
        MPI_Sendrecv(&out, 1, MPI_DOUBLE, right, 0, &in, 1, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return end();
}
