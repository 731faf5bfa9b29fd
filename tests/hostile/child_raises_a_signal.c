/* Children die of signals: the parent lives on.
 *
 * ranks: 2
 */
#include "hostile.h"

int main(int argc, char **argv)
{
    static const int signals[] = {SIGKILL, SIGSEGV, SIGTERM, SIGABRT};
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 4; i++) {
        communicate(10);
        pid_t child = fork();
        if (child == 0) {
            struct rlimit none = {0, 0};
            setrlimit(RLIMIT_CORE, &none);
            signal(signals[i], SIG_DFL);
            raise(signals[i]);
            _exit(100);
        }
        REQUIRE(end_of(child) == 1000 + signals[i]);
    }
    communicate(10);
    return finish();
}
