/* Steps of which each makes the same calls. What a rank has done stands in DIR/counts-RANK, which is mapped: so it is known even after
 * a kill. Each number there is raised after the call that it counts has returned.
 *
 * steps DIR [STEPS]: so many steps, or for ever. Two ranks.
 */
#define _POSIX_C_SOURCE 200809L
#include "../check.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { PID, STEPS, ISEND, IRECV, WAITALL, SEND, RECV, ALLREDUCE, SENT, RECEIVED, NUMBERS };

static volatile uint64_t *map_counts(const char *directory, int rank)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/counts-%d.part", directory, rank);
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    REQUIRE(file >= 0 && ftruncate(file, NUMBERS * sizeof(uint64_t)) == 0);
    void *map = mmap(NULL, NUMBERS * sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    REQUIRE(map != MAP_FAILED);
    ((uint64_t *)map)[PID] = (uint64_t)getpid();
    char whole[4096];
    snprintf(whole, sizeof whole, "%s/counts-%d", directory, rank);
    REQUIRE(rename(path, whole) == 0);
    close(file);
    return map;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    REQUIRE(argc > 1 && world_size() == 2);
    int rank = world_rank(), peer = !rank;
    uint64_t steps = argc > 2 ? strtoull(argv[2], NULL, 10) : UINT64_MAX;
    char there[128], here[128];
    memset(there, rank, sizeof there);
    volatile uint64_t *counts = map_counts(argv[1], rank);
    for (uint64_t step = 0; step < steps; step++) {
        int bytes = 8 * (1 + (int)(step % 16)), sum = 0;
        MPI_Request requests[2];
        MPI_Irecv(here, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &requests[0]);
        counts[IRECV]++;
        MPI_Isend(there, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &requests[1]);
        counts[ISEND]++, counts[SENT] += (uint64_t)bytes;
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        counts[WAITALL]++, counts[RECEIVED] += (uint64_t)bytes;
        for (int turn = 0; turn < 2; turn++) {
            if (turn == rank) {
                MPI_Send(there, 100, MPI_BYTE, peer, 2, MPI_COMM_WORLD);
                counts[SEND]++, counts[SENT] += 100;
            } else {
                MPI_Recv(here, 100, MPI_BYTE, peer, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                counts[RECV]++, counts[RECEIVED] += 100;
            }
        }
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        counts[ALLREDUCE]++;
        counts[STEPS] = step + 1;
        if (step % 64 == 63)
            nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
    }
    return finish();
}
