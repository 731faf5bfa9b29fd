/* Rank 0 calls abort(), the C library's, not MPI's.
 *
 * ranks: 2
 * exit: nonzero
 * leaves: killed
 */
#include "hostile.h"

int main(int argc, char **argv)
{
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    MPI_Init(&argc, &argv);
    communicate(50);
    if (world_rank() == 0)
        abort();
    communicate(50);
    return finish();
}
