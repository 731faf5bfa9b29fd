/* Whatever is mapped from a directory of results is removed by the program while it runs, with its directory.
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
    if (place && world_rank() == 0) {
        char command[4096];
        snprintf(command, sizeof command, "rm -rf '%s'", place);
        REQUIRE(system(command) == 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    communicate(500);
    return finish();
}
