/* After MPI_Finalize the process becomes another program, whose exit code counts.
 *
 * ranks: 1
 * exit: 6
 */
#include "hostile.h"

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    communicate(20);
    finish();
    execl("/bin/sh", "sh", "-c", "exit 6", (char *)NULL);
    return 100;
}
