/* All memory is locked, that of later too, where it may be: mappings that are made later must all be there.
 *
 * ranks: 2
 */
#include "hostile.h"

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    communicate(20);
    mlockall(MCL_FUTURE);
    communicate(500);
    munlockall();
    return finish();
}
