/* Messages of one byte between two ends of a connection, through the functions by which MPI libraries move data: what it costs
 * that these are interposed, where nobody listens, and where they are the program's own while somebody does.
 *
 * below [COUNT [BATCHES]]: nanoseconds for a send and a receive, the least of the batches of so many messages.
 *
 * Side by side: plain; with LD_PRELOAD=libmel.so MEL_PROFILE=none, where nobody listens; with `mel run --profile net`, where
 * somebody does.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

int main(int argc, char **argv)
{
    long count = argc > 1 ? atol(argv[1]) : 100000, batches = argc > 2 ? atol(argv[2]) : 20;
    int pair[2];
    MPI_Init(&argc, &argv);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
        return 1;
    double least = 1e18;
    for (long batch = 0; batch < batches; batch++) {
        double begin = now();
        for (long i = 0; i < count; i++) {
            char byte = (char)i;
            if (send(pair[0], &byte, 1, 0) != 1 || recv(pair[1], &byte, 1, 0) != 1)
                return 1;
        }
        double taken = (now() - begin) / (double)count;
        least = taken < least ? taken : least;
    }
    printf("%.1f ns\n", least);
    MPI_Finalize();
    return 0;
}
