/* After MPI_Init the process becomes another user for good, as servers do. Needs to be root; others only communicate.
 *
 * ranks: 2
 * leaves: any
 */
#include "hostile.h"

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    communicate(20);
    if (getuid() == 0)
        REQUIRE(setgid(65534) == 0 && setuid(65534) == 0);
    communicate(200);
    return finish();
}
