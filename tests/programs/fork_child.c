/* Ranks that fork between two rounds of messages: children that execute a program, call _exit, and call exit.
 *
 * Whatever watches the parent must not run twice, and must not write or remove anything when a child ends.
 *
 * ranks: 2 4
 */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include <sys/wait.h>
#include <unistd.h>

static void exchange(int round)
{
    int rank = world_rank(), size = world_size(), got = -1, sent = 10 * round + rank;
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    MPI_Sendrecv(&sent, 1, MPI_INT, right, 1, &got, 1, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    REQUIRE(got == 10 * round + left);
    mix((uint64_t)got);
}

static void child_main(int kind)
{
    switch (kind) {
    case 0:
        execl("/bin/true", "true", (char *)NULL);
        _exit(100);
    case 1:
        _exit(11);
    default:
        exit(12);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    static const int wanted[] = {0, 11, 12};

    exchange(1);
    for (int kind = 0; kind < 3; kind++) {
        int status = 0;
        fflush(NULL); /* nothing left for the child to print again */
        pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0)
            child_main(kind);
        REQUIRE(waitpid(child, &status, 0) == child);
        REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == wanted[kind]);
        exchange(2 + kind);
    }
    return finish();
}
