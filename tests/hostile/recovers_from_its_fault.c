/* A handler of SIGSEGV jumps out of the program's own fault: the handler stays the program's, and MPI works on.
 *
 * ranks: 2
 */
#include "hostile.h"
#include <setjmp.h>

static sigjmp_buf before;

static void caught(int number)
{
    (void)number;
    siglongjmp(before, 1);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    struct sigaction action = {.sa_handler = caught};
    sigaction(SIGSEGV, &action, NULL);
    char *nothing = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 10; i++) {
        communicate(5);
        if (!sigsetjmp(before, 1)) {
            *(volatile char *)nothing = 1;
            REQUIRE(0);
        }
    }
    communicate(5);
    return finish();
}
