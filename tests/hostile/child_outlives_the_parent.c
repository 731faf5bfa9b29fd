/* A daemon: the child of a child leaves the session, closes what it finds, and still runs when the parent has ended.
 *
 * ranks: 2
 */
#include "hostile.h"

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    communicate(20);
    pid_t child = fork();
    if (child == 0) {
        setsid();
        if (fork() != 0)
            _exit(0);
        for (int fd = 0; fd < 1024; fd++)
            close(fd);
        usleep(1500000);
        exit(0);
    }
    REQUIRE(end_of(child) == 0);
    communicate(20);
    return finish();
}
