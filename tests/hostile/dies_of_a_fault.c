/* Rank 1 dies of its own fault in the middle of the run.
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
    if (world_rank() == 1)
        *(volatile int *)mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) = 1;
    communicate(50);
    return finish();
}
