/* The thread changes the processors that it may run on between calls, and its priority.
 *
 * ranks: 2
 */
#include "hostile.h"
#include <sched.h>

int main(int argc, char **argv)
{
    cpu_set_t all, one;
    MPI_Init(&argc, &argv);
    sched_getaffinity(0, sizeof all, &all);
    for (int i = 0; i < 40; i++) {
        CPU_ZERO(&one);
        for (int cpu = i % CPU_SETSIZE, seen = 0; seen < CPU_SETSIZE; seen++, cpu = (cpu + 1) % CPU_SETSIZE)
            if (CPU_ISSET(cpu, &all)) {
                CPU_SET(cpu, &one);
                break;
            }
        REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
        communicate(5);
    }
    sched_setaffinity(0, sizeof all, &all);
    errno = 0;
    if (nice(5) == -1)
        REQUIRE(errno == 0);
    communicate(20);
    return finish();
}
