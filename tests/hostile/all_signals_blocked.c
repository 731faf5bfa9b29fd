/* All signals are blocked in the thread that calls MPI, before it calls MPI_Init.
 *
 * ranks: 2
 */
#include "hostile.h"

int main(int argc, char **argv)
{
    sigset_t all, found;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    MPI_Init(&argc, &argv);
    communicate(100);
    pthread_sigmask(SIG_SETMASK, NULL, &found);
    REQUIRE(sigismember(&found, SIGUSR1) && sigismember(&found, SIGTERM) && sigismember(&found, SIGALRM));
    return finish();
}
