/* Each rank is stopped for a while by a child of its own, and continued.
 *
 * ranks: 2
 */
#include "hostile.h"

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    communicate(50);
    pid_t parent = getpid(), child = fork();
    if (child == 0) {
        kill(parent, SIGSTOP);
        usleep(200000);
        kill(parent, SIGCONT);
        _exit(0);
    }
    communicate(50);
    REQUIRE(end_of(child) == 0);
    communicate(50);
    return finish();
}
