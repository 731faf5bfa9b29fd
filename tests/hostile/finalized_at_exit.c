/* MPI is finalized by a handler of exit.
 *
 * ranks: 2
 */
#include "hostile.h"

static void at_exit(void)
{
    communicate(5);
    MPI_Finalize();
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    atexit(at_exit);
    communicate(50);
    return 0;
}
