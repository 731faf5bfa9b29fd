/* What the hostile programs share: communication that is checked, before and after what they do. README.md explains their head comments. */
#ifndef HOSTILE_H
#define HOSTILE_H

#include "../programs/check.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Messages around the ring, blocking and not, and a sum over all ranks. Collective. */
static inline void communicate(int rounds)
{
    int rank = world_rank(), size = world_size();
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    for (int round = 0; round < rounds; round++) {
        int sent = 1000 * round + rank, received = -1, again = -1, sum = 0;
        MPI_Sendrecv(&sent, 1, MPI_INT, right, 1, &received, 1, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        REQUIRE(received == 1000 * round + left);
        MPI_Request requests[2];
        MPI_Irecv(&again, 1, MPI_INT, left, 2, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(&sent, 1, MPI_INT, right, 2, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        REQUIRE(again == received);
        MPI_Allreduce(&sent, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        REQUIRE(sum == size * 1000 * round + size * (size - 1) / 2);
        mix((uint64_t)(unsigned)(received + sum));
    }
}

/* Waits for a child, and gives its exit code, or 1000 and the number of the signal that ended it. */
static inline int end_of(pid_t child)
{
    int status = 0;
    REQUIRE(child > 0);
    while (waitpid(child, &status, 0) < 0)
        REQUIRE(errno == EINTR);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

#endif
