/* Threads that put and get at once, and flush one target, all, or locally: "N THREADS" are the arguments. Each thread
 * has its own words at each target. Prints what each rank has started: "rank R puts P gets G bytes B".
 */
#define _XOPEN_SOURCE 600
#include "../check.h"

#include <pthread.h>

static MPI_Win win;
static int rounds, threads;
static pthread_barrier_t together;
/* What a thread sends and gets: as long as the window lives. */
static int64_t sent[64][4], got[64][4];

static void *work(void *argument)
{
    const int thread = (int)(intptr_t)argument, size = world_size();
    for (int i = 0; i < 4; ++i)
        sent[thread][i] = thread;
    pthread_barrier_wait(&together);
    for (int round = 0; round < rounds; ++round) {
        const int target = (round / 4 + thread) % size, words = 1 + round % 4;
        MPI_Put(sent[thread], words, MPI_INT64_T, target, 4 * thread, words, MPI_INT64_T, win);
        if (round % 3 == 0)
            MPI_Win_flush(target, win);
        MPI_Get(got[thread], words, MPI_INT64_T, target, 4 * thread, words, MPI_INT64_T, win);
        switch (round % 7) {
        case 0: MPI_Win_flush_all(win); break;
        case 2: MPI_Win_flush_local(target, win); break;
        case 4: MPI_Win_flush_local_all(win); break;
        case 6: MPI_Win_flush(target, win); break;
        }
    }
    pthread_barrier_wait(&together);
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    REQUIRE(provided == MPI_THREAD_MULTIPLE && argc == 3);
    rounds = atoi(argv[1]);
    threads = atoi(argv[2]);
    REQUIRE(threads <= 64);
    int64_t *memory;
    MPI_Win_allocate(4 * 8 * threads, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_lock_all(0, win);
    pthread_t other[64];
    REQUIRE(pthread_barrier_init(&together, NULL, threads) == 0);
    for (int i = 0; i < threads; ++i)
        REQUIRE(pthread_create(&other[i], NULL, work, (void *)(intptr_t)i) == 0);
    for (int i = 0; i < threads; ++i)
        pthread_join(other[i], NULL);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 4 * threads; ++i)
        REQUIRE(memory[i] == i / 4);
    MPI_Win_free(&win);
    long long bytes = 0;
    for (int round = 0; round < rounds; ++round)
        bytes += 2LL * 8 * (1 + round % 4) * threads;
    printf("rank %d puts %d gets %d bytes %lld\n", world_rank(), rounds * threads, rounds * threads, bytes);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
