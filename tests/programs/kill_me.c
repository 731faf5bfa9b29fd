/* Rank 1 kills itself with SIGKILL after it has received N messages; rank 0 waits for an answer that never comes.
 *
 * At rank 1 exactly N messages have been received, and a probe has found no further one: the events of a call may be
 * raised in the next one. Nothing is printed: what had been printed before such an
 * end may get lost.
 *
 * ranks: 2
 * args: 100
 * exit: nonzero
 */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include <signal.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank = world_rank(), messages = argc > 1 ? atoi(argv[1]) : 100;

    if (rank == 0) {
        int answer;
        for (int i = 0; i < messages; i++)
            MPI_Send(&i, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
        MPI_Recv(&answer, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        for (int i = 0; i < messages; i++) {
            int value = -1;
            MPI_Recv(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            REQUIRE(value == i);
        }
        int more = -1;
        MPI_Iprobe(0, 1, MPI_COMM_WORLD, &more, MPI_STATUS_IGNORE);
        REQUIRE(!more);
        raise(SIGKILL);
    }
    return finish();
}
