/* Between MPI_Init and MPI_Finalize files may have 64 KiB at most, and SIGXFSZ has its default: whoever writes more is killed.
 *
 * ranks: 2
 * leaves: any
 */
#include "hostile.h"

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    communicate(20);
    struct rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    rlim_t before = limit.rlim_cur;
    limit.rlim_cur = 64 << 10;
    setrlimit(RLIMIT_FSIZE, &limit);
    signal(SIGXFSZ, SIG_DFL);
    communicate(2000);
    limit.rlim_cur = before;
    setrlimit(RLIMIT_FSIZE, &limit);
    return finish();
}
