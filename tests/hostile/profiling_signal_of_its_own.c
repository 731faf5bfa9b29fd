/* The program has a profiler of its own: SIGPROF by processor time. Its handler stays, and is called.
 *
 * ranks: 2
 */
#include "hostile.h"
#include <sys/time.h>

static volatile sig_atomic_t samples;

static void sample(int number)
{
    (void)number;
    samples++;
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = sample, .sa_flags = SA_RESTART}, found;
    struct itimerval every = {{0, 5000}, {0, 5000}};
    sigaction(SIGPROF, &action, NULL);
    setitimer(ITIMER_PROF, &every, NULL);
    MPI_Init(&argc, &argv);
    while (samples < 10)
        mix(0);
    communicate(500);
    sigaction(SIGPROF, NULL, &found);
    REQUIRE(found.sa_handler == sample);
    checksum = 0;
    communicate(5);
    return finish();
}
