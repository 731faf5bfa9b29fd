/* A timer interrupts MPI calls some hundred times a second, and its handler restarts nothing.
 *
 * ranks: 2
 */
#include "hostile.h"
#include <sys/time.h>

static volatile sig_atomic_t ticks;

static void tick(int number)
{
    (void)number;
    ticks++;
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = tick};
    struct itimerval every = {{0, 2000}, {0, 2000}};
    sigaction(SIGALRM, &action, NULL);
    MPI_Init(&argc, &argv);
    setitimer(ITIMER_REAL, &every, NULL);
    while (ticks < 100)
        pthread_sigmask(SIG_BLOCK, NULL, NULL);
    communicate(2000);
    memset(&every, 0, sizeof every);
    setitimer(ITIMER_REAL, &every, NULL);
    REQUIRE(ticks >= 100);
    return finish();
}
