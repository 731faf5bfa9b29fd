/* The message rate of one-sided communication from many threads: rank 0 has THREADS threads that put to rank 1, or
 * get from it, in bursts of operations, each burst ended by a synchronisation. Prints, for each operation, way
 * to synchronise and size:
 *
 *     rate OPERATION SYNCHRONISATION BYTES OPERATIONS_PER_SECOND
 *
 * With -DCALLBACKS, and linked to libmpit_events.so, each of the thirteen event types of the window has a callback
 * that does nothing.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef CALLBACKS
#include "mpit_events.h"
#endif

enum { THREADS = 16, LARGEST = 4 << 20, REPETITIONS = 3 };

enum { FLUSH, FLUSH_ALL, LOCK_ALL, PSCW, WAYS };
static const char *const ways[WAYS] = {"flush", "flush_all", "lock_all", "pscw"};
static const char *const operations[2] = {"put", "get"};

static MPI_Win win;
static char *memory;
static pthread_barrier_t together;

/* What is measured now; all threads see the same. */
static struct {
    int get, way, bytes, bursts, burst;
} now;

static void *work(void *argument)
{
    const int thread = (int)(size_t)argument;
    char *own = memory + (size_t)thread * LARGEST;
    for (int burst = 0; burst < now.bursts; ++burst) {
        for (int i = 0; i < now.burst; ++i) {
            /* All threads share the target's memory: what is there is nobody's concern here. */
            if (now.get)
                MPI_Get(own, now.bytes, MPI_BYTE, 1, 0, now.bytes, MPI_BYTE, win);
            else
                MPI_Put(own, now.bytes, MPI_BYTE, 1, 0, now.bytes, MPI_BYTE, win);
        }
        if (now.way == FLUSH)
            MPI_Win_flush(1, win);
        else if (now.way == FLUSH_ALL)
            MPI_Win_flush_all(win);
    }
    pthread_barrier_wait(&together);
    return NULL;
}

/* Rank 0's part: the threads are made while the epoch is open, which costs the same in each configuration. */
static double measure(MPI_Group target)
{
    pthread_t threads[THREADS];
    const double begin = MPI_Wtime();
    if (now.way == PSCW)
        MPI_Win_start(target, 0, win);
    else
        MPI_Win_lock_all(0, win);
    for (int i = 0; i < THREADS; ++i)
        pthread_create(&threads[i], NULL, work, (void *)(size_t)i);
    pthread_barrier_wait(&together);
    if (now.way == PSCW)
        MPI_Win_complete(win);
    else
        MPI_Win_unlock_all(win);
    const double seconds = MPI_Wtime() - begin;
    for (int i = 0; i < THREADS; ++i)
        pthread_join(threads[i], NULL);
    return (double)now.bursts * now.burst * THREADS / seconds;
}

#ifdef CALLBACKS
static void nothing(MPI_T_event_instance instance, MPI_T_event_registration handle, MPI_T_cb_safety safety, void *data)
{
    (void)instance, (void)handle, (void)safety, (void)data;
}

static void listen(void)
{
    static const char *const names[] = {
        "lock_acquired", "lock_released", "put_started", "put_complete", "get_started", "get_complete",
        "flush_started", "flush_complete", "pscw_expose_start", "pscw_expose_complete", "pscw_access_start",
        "pscw_access_complete", "fence"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        char name[64];
        int index;
        MPI_T_event_registration handle;
        snprintf(name, sizeof name, "osc_rdma_%s", names[i]);
        if (MPI_T_event_get_index(name, &index) != MPI_SUCCESS ||
            MPI_T_event_handle_alloc(index, &win, MPI_INFO_NULL, &handle) != MPI_SUCCESS ||
            MPI_T_event_register_callback(handle, MPI_T_CB_REQUIRE_THREAD_SAFE, MPI_INFO_NULL, NULL, nothing) !=
                MPI_SUCCESS) {
            fprintf(stderr, "rma: no callback on %s\n", name);
            MPI_Abort(MPI_COMM_WORLD, 3);
        }
    }
}
#endif

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    int provided, rank, size;
#ifdef CALLBACKS
    MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided);
#endif
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != 2 || provided != MPI_THREAD_MULTIPLE) {
        if (rank == 0)
            fprintf(stderr, "usage: mpirun -n 2 %s, with an MPI that has MPI_THREAD_MULTIPLE\n", argv[0]);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    const size_t length = rank == 0 ? (size_t)THREADS * LARGEST : LARGEST;
    memory = malloc(length);
    memset(memory, 0, length);
    MPI_Win_create(memory, length, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
#ifdef CALLBACKS
    listen();
#endif
    MPI_Group all, other;
    const int partner = 1 - rank;
    MPI_Win_get_group(win, &all);
    MPI_Group_incl(all, 1, &partner, &other);
    pthread_barrier_init(&together, NULL, THREADS + 1);
    static const int sizes[] = {8, 256, 4096, 65536, 1 << 20, LARGEST};
    for (now.get = 0; now.get < 2; ++now.get)
        for (now.way = 0; now.way < WAYS; ++now.way)
            for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
                double rates[REPETITIONS];
                now.bytes = sizes[i];
                now.burst = now.bytes <= 65536 ? 16 : 1;
                now.bursts = now.bytes <= 4096 ? 64 : now.bytes <= 65536 ? 2 : 1;
                for (int repetition = 0; repetition < REPETITIONS; ++repetition) {
                    if (now.way == PSCW && rank == 1) {
                        MPI_Win_post(other, 0, win);
                        MPI_Win_wait(win);
                    }
                    if (rank == 0)
                        rates[repetition] = measure(other);
                    MPI_Barrier(MPI_COMM_WORLD);
                }
                qsort(rates, REPETITIONS, sizeof rates[0], by_value);
                if (rank == 0)
                    printf("rate %s %s %d %.1f\n", operations[now.get], ways[now.way], now.bytes,
                           rates[REPETITIONS / 2]);
            }
    MPI_Group_free(&all);
    MPI_Group_free(&other);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
