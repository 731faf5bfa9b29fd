/* Processes whose memory and files no other one may open, as in many containers. Every rank receives ROUNDS messages. */
#define _GNU_SOURCE
#include "../check.h"
#include <sys/prctl.h>

enum { ROUNDS = 20 };

int main(int argc, char **argv)
{
    if (argc > 1 && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
        return 1;
    MPI_Init(&argc, &argv);
    int rank = world_rank(), size = world_size();
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    for (int round = 0; round < ROUNDS; round++) {
        int sent = 100 * round + rank, received = -1;
        MPI_Sendrecv(&sent, 1, MPI_INT, right, round, &received, 1, MPI_INT, left, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        REQUIRE(received == 100 * round + left);
        mix((uint64_t)received);
    }
    return finish();
}
