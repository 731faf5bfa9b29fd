/* A program that is linked to MPI and does not initialise it, like many a `--version`; its exit code is 7.
 *
 * Asking whether MPI is initialised is allowed at any time.
 *
 * ranks: 1
 * exit: 7
 */
#include <mpi.h>
#include <stdio.h>

int main(void)
{
    int initialized = 1;
    MPI_Initialized(&initialized);
    printf("initialized %d\n", initialized);
    return initialized ? 1 : 7;
}
