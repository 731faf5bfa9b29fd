/* Early scan: ranks 1 to 3 wait in MPI_Scan for rank 0, which comes 20 ms late.
 *
 * ranks: 4
 * default: rule=early_scan cause=0 site=SCAN cause_site=SCAN lost=0.60 victims=1,2,3
 * exact: rule=early_scan cause=0 site=SCAN cause_site=SCAN lost=0.60 victims=1,2,3 count=30
 */
#include "planted.h"

int main(int argc, char **argv)
{
    double mine = 1, sum;
    begin_together(&argc, &argv);
    for (int step = 0; step < 10; step++) {
        if (rank == 0)
            work(20);
        MPI_Scan(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); /* line SCAN */
    }
    return end();
}
