/* Standard input, output and error are closed before MPI_Init, so that whoever opens a file next gets their numbers.
 *
 * ranks: 2
 */
#include "hostile.h"

int main(int argc, char **argv)
{
    close(0);
    close(1);
    close(2);
    int file = open("/dev/null", O_RDWR);
    if (file != 0)
        return 3;
    MPI_Init(&argc, &argv);
    communicate(50);
    MPI_Finalize();
    return 0;
}
