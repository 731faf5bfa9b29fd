/* The process ends by _exit right after MPI_Finalize: no handler of exit runs.
 *
 * ranks: 1
 * exit: 8
 */
#include "hostile.h"

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    communicate(50);
    finish();
    _exit(8);
}
