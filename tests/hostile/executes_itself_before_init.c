/* Before MPI_Init the process executes itself again, as programs do that set an environment of their own.
 *
 * ranks: 2
 */
#include "hostile.h"

int main(int argc, char **argv)
{
    if (!getenv("HOSTILE_AGAIN")) {
        setenv("HOSTILE_AGAIN", "1", 1);
        execv("/proc/self/exe", argv);
        return 100;
    }
    MPI_Init(&argc, &argv);
    communicate(20);
    return finish();
}
