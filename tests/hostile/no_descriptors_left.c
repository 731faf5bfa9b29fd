/* After MPI_Init the process takes all descriptors that it may have, and gives them back before MPI_Finalize.
 *
 * ranks: 2
 */
#include "hostile.h"

int main(int argc, char **argv)
{
    static int taken[4096];
    int count = 0;
    struct rlimit limit;
    MPI_Init(&argc, &argv);
    communicate(20);
    getrlimit(RLIMIT_NOFILE, &limit);
    rlim_t before = limit.rlim_cur;
    limit.rlim_cur = 256;
    setrlimit(RLIMIT_NOFILE, &limit);
    while (count < 4096 && (taken[count] = open("/dev/null", O_RDONLY)) >= 0)
        count++;
    communicate(200);
    while (count > 0)
        close(taken[--count]);
    limit.rlim_cur = before;
    setrlimit(RLIMIT_NOFILE, &limit);
    return finish();
}
