/* Four ranks work as long, and call MPI_Allreduce in each step.
 *
 * ranks: 4
 */
#include "../planted/planted.h"

int main(int argc, char **argv)
{
    double mine = 1, sum;
    begin_together(&argc, &argv);
    for (int step = 0; step < 10; step++) {
        work(50);
        MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    return end();
}
