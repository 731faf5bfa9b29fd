/* The current directory changes before MPI_Init and after it, in the end to one that is removed.
 *
 * ranks: 2
 */
#include "hostile.h"

int main(int argc, char **argv)
{
    char name[] = "/tmp/hostile-XXXXXX";
    REQUIRE(chdir("/") == 0);
    MPI_Init(&argc, &argv);
    communicate(20);
    REQUIRE(mkdtemp(name) && chdir(name) == 0 && rmdir(name) == 0);
    communicate(20);
    return finish();
}
