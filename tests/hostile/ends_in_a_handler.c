/* SIGTERM is sent to the process, whose handler ends MPI and the process, as programs do that checkpoint.
 *
 * ranks: 1
 * exit: 9
 */
#include "hostile.h"

static void terminate(int number)
{
    (void)number;
    MPI_Finalize();
    exit(9);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    communicate(20);
    signal(SIGTERM, terminate);
    raise(SIGTERM);
    return 100;
}
