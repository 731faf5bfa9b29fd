/* The mask of file modes takes all rights away, before MPI_Init.
 *
 * ranks: 2
 */
#include "hostile.h"

int main(int argc, char **argv)
{
    mode_t before = umask(0777);
    MPI_Init(&argc, &argv);
    communicate(50);
    REQUIRE(umask(before) == 0777);
    return finish();
}
