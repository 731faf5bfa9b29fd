/* The thread that calls MPI leaves the process's table of descriptors and file system state: it has copies of its own.
 *
 * ranks: 2
 */
#include "hostile.h"
#include <sched.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    communicate(20);
    REQUIRE(unshare(CLONE_FILES | CLONE_FS) == 0);
    communicate(200);
    return finish();
}
