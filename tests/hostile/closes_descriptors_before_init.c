/* Before MPI_Init all descriptors are closed but the standard ones and that of the launcher, as programs do that want a clean start.
 *
 * ranks: 1
 */
#include "hostile.h"

int main(int argc, char **argv)
{
    const char *launcher = getenv("PMI_FD");
    for (int fd = 3; fd < 1024; fd++)
        if (!launcher || fd != atoi(launcher))
            close(fd);
    MPI_Init(&argc, &argv);
    communicate(50);
    return finish();
}
