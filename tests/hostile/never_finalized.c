/* A single process returns from main without MPI_Finalize.
 *
 * ranks: 1
 * exit: any
 * leaves: killed
 */
#include "hostile.h"

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    communicate(50);
    return 0;
}
