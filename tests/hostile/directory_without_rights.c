/* The directory of results loses all its rights while the program runs, and the process is no longer root.
 *
 * ranks: 2
 * leaves: any
 */
#include "hostile.h"

int main(int argc, char **argv)
{
    const char *place = getenv("HOSTILE_OUTPUT");
    MPI_Init(&argc, &argv);
    communicate(50);
    if (place && world_rank() == 0)
        REQUIRE(chmod(place, 0) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (geteuid() == 0)
        REQUIRE(setegid(65534) == 0 && seteuid(65534) == 0);
    communicate(50);
    if (getuid() == 0)
        REQUIRE(seteuid(0) == 0 && setegid(0) == 0);
    if (place && world_rank() == 0)
        chmod(place, 0700);
    return finish();
}
