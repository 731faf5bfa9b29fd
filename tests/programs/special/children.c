/* Every rank starts other programs between its messages: with fork and exec, with posix_spawn, and with system. Argument:
 * a program to start. */
#include "../check.h"
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void ended_well(pid_t child)
{
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void around(int tag)
{
    int rank = world_rank(), size = world_size(), received = -1;
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    MPI_Sendrecv(&rank, 1, MPI_INT, right, tag, &received, 1, MPI_INT, left, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    REQUIRE(received == left);
    mix((uint64_t)received);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    REQUIRE(argc == 2);
    char *args[] = { argv[1], NULL };
    around(1);
    pid_t child = fork();
    if (child == 0) {
        execv(argv[1], args);
        _exit(1);
    }
    ended_well(child);
    around(2);
    REQUIRE(posix_spawn(&child, argv[1], NULL, NULL, args, environ) == 0);
    ended_well(child);
    around(3);
    REQUIRE(system("exec true") == 0);
    around(4);
    return finish();
}
