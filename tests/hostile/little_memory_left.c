/* After MPI_Init the address space may grow by 32 MiB, no more.
 *
 * ranks: 2
 * leaves: any
 */
#include "hostile.h"

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    communicate(20);
    unsigned long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    REQUIRE(statm && fscanf(statm, "%lu", &pages) == 1);
    fclose(statm);
    struct rlimit limit;
    getrlimit(RLIMIT_AS, &limit);
    rlim_t before = limit.rlim_cur;
    limit.rlim_cur = pages * 4096 + (32 << 20);
    REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0);
    communicate(2000);
    limit.rlim_cur = before;
    setrlimit(RLIMIT_AS, &limit);
    return finish();
}
