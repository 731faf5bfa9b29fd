/* Rank 1 comes 400 ms late to MPI_Finalize.
 *
 * ranks: 4
 * default: rule=wait_at_finalize cause=1 lost=1.20 victims=0,2,3
 */
#include "planted.h"

int main(int argc, char **argv)
{
    begin_together(&argc, &argv);
    if (rank == 1)
        work(400);
    return end();
}
