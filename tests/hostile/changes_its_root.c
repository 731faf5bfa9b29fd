/* After MPI_Init the process changes its root to an empty directory: no path of before leads anywhere. Needs to be root; others only
 * communicate.
 *
 * ranks: 2
 * leaves: any
 */
#include "hostile.h"

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    communicate(20);
    char name[] = "/tmp/hostile-XXXXXX";
    REQUIRE(mkdtemp(name));
    int outside = open("/", O_RDONLY | O_DIRECTORY);
    if (chroot(name) == 0)
        REQUIRE(chdir("/") == 0);
    communicate(200);
    int code = 0;
    if (fchdir(outside) == 0 && chroot(".") == 0)
        code = rmdir(name);
    REQUIRE(code == 0);
    return finish();
}
