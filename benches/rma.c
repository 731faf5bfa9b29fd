/* The message rate of one-sided communication from many threads: rank 0 has THREADS threads that put to rank 1, or
 * get from it, in bursts of operations, each burst ended by a synchronisation. Prints, for each operation, way
 * to synchronise and size:
 *
 *     rate OPERATION SYNCHRONISATION BYTES OPERATIONS_PER_SECOND
 *
 * A rate is the median over epochs, of which there are as many as fit into MILLISECONDS (first argument; at least eleven).
 * Further arguments, where there are any, name the OPERATION, the SYNCHRONISATION and the BYTES that alone are measured.
 *
 * With -DCALLBACKS, and linked to libmpit_events.so, each of the thirteen event types of the window has a callback
 * that does nothing.
 */
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#ifdef CALLBACKS
#include "mpit_events.h"
#endif

enum { THREADS = 16, LARGEST = 4 << 20, LARGE_PAGE = 2 << 20, LEAST_EPOCHS = 11, MOST_EPOCHS = 4096 };

enum { FLUSH, FLUSH_ALL, LOCK_ALL, PSCW, WAYS };
static const char *const ways[WAYS] = {"flush", "flush_all", "lock_all", "pscw"};
static const char *const operations[2] = {"put", "get"};

static MPI_Win win;
static char *memory;
/* All threads and the main one: at the beginning and at the end of an epoch. */
static pthread_barrier_t together;

/* What is measured now; all threads see the same. */
static struct {
    int get, way, bytes, bursts, burst, over;
} now;

static void communicate(char *own)
{
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
}

/* A thread of rank 0: the same ones do everything, as in a program that has threads at all. */
static void *work(void *argument)
{
    const int thread = (int)(size_t)argument;
    for (;;) {
        pthread_barrier_wait(&together);
        if (now.over)
            return NULL;
        communicate(memory + (size_t)thread * LARGEST);
        pthread_barrier_wait(&together);
    }
}

/* Rank 0's part of an epoch: operations per second. */
static double epoch(MPI_Group target)
{
    const double begin = MPI_Wtime();
    if (now.way == PSCW)
        MPI_Win_start(target, 0, win);
    else
        MPI_Win_lock_all(0, win);
    pthread_barrier_wait(&together);
    pthread_barrier_wait(&together);
    if (now.way == PSCW)
        MPI_Win_complete(win);
    else
        MPI_Win_unlock_all(win);
    return (double)now.bursts * now.burst * THREADS / (MPI_Wtime() - begin);
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Rank 0: epochs for so long; it tells rank 1 before each that there is one more. */
static double measure(MPI_Group target, double seconds)
{
    static double rates[MOST_EPOCHS];
    const double end = MPI_Wtime() + seconds;
    int epochs = 0;
    for (int more = 1; more;) {
        more = epochs < LEAST_EPOCHS || (epochs < MOST_EPOCHS && MPI_Wtime() < end);
        MPI_Send(&more, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        if (more)
            rates[epochs++] = epoch(target);
    }
    qsort(rates, (size_t)epochs, sizeof rates[0], by_value);
    return rates[epochs / 2];
}

/* In large pages where there are any: on which small ones memory lies makes more difference, from run to run, than anything
 * that is measured here. */
static char *obtain(size_t length)
{
    void *obtained = NULL;
    if (posix_memalign(&obtained, LARGE_PAGE, length) != 0)
        MPI_Abort(MPI_COMM_WORLD, 2);
    madvise(obtained, length, MADV_HUGEPAGE);
    memset(obtained, 0, length);
    return obtained;
}

/* Rank 1, which waits for messages all the time, gets the last processor for itself, and rank 0 with its threads the others:
 * where they may all run anywhere, which of them meet is different from run to run, and so are the rates, by more than
 * anything that is measured here. */
static void take_place(int rank)
{
    cpu_set_t allowed, place;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) < 2)
        return;
    int last = CPU_SETSIZE - 1;
    while (!CPU_ISSET(last, &allowed))
        --last;
    CPU_ZERO(&place);
    CPU_SET(last, &place);
    CPU_CLR(last, &allowed);
    sched_setaffinity(0, sizeof place, rank == 1 ? &place : &allowed);
}

/* Rank 1: lets the epochs happen. */
static void be_target(MPI_Group origin)
{
    for (int more = 1; more;) {
        MPI_Recv(&more, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (more && now.way == PSCW) {
            MPI_Win_post(origin, 0, win);
            MPI_Win_wait(win);
        }
    }
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

int main(int argc, char **argv)
{
    int provided, rank, size;
#ifdef CALLBACKS
    MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided);
#endif
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const double seconds = (argc > 1 ? atof(argv[1]) : 40) / 1e3;
    if (size != 2 || provided != MPI_THREAD_MULTIPLE || seconds <= 0) {
        if (rank == 0)
            fprintf(stderr, "usage: mpirun -n 2 %s [MILLISECONDS [OPERATION [SYNCHRONISATION [BYTES]]]], with an MPI that has MPI_THREAD_MULTIPLE\n",
                    argv[0]);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    take_place(rank);
    const size_t length = rank == 0 ? (size_t)THREADS * LARGEST : LARGEST;
    memory = obtain(length);
    MPI_Win_create(memory, length, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
#ifdef CALLBACKS
    listen();
#endif
    MPI_Group all, other;
    const int partner = 1 - rank;
    MPI_Win_get_group(win, &all);
    MPI_Group_incl(all, 1, &partner, &other);
    pthread_t threads[THREADS];
    if (rank == 0) {
        pthread_barrier_init(&together, NULL, THREADS + 1);
        for (int i = 0; i < THREADS; ++i)
            pthread_create(&threads[i], NULL, work, (void *)(size_t)i);
    }
    static const int sizes[] = {8, 256, 4096, 65536, 1 << 20, LARGEST};
    for (now.get = 0; now.get < 2; ++now.get)
        for (now.way = 0; now.way < WAYS; ++now.way)
            for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
                now.bytes = sizes[i];
                if ((argc > 2 && strcmp(argv[2], operations[now.get]) != 0) ||
                    (argc > 3 && strcmp(argv[3], ways[now.way]) != 0) || (argc > 4 && atoi(argv[4]) != now.bytes))
                    continue;
                now.burst = now.bytes <= 65536 ? 16 : 1;
                now.bursts = now.bytes <= 4096 ? 16 : now.bytes <= 65536 ? 2 : 1;
                if (rank == 1)
                    be_target(other);
                else
                    printf("rate %s %s %d %.1f\n", operations[now.get], ways[now.way], now.bytes,
                           measure(other, seconds));
            }
    if (rank == 0) {
        now.over = 1;
        pthread_barrier_wait(&together);
        for (int i = 0; i < THREADS; ++i)
            pthread_join(threads[i], NULL);
    }
    MPI_Group_free(&all);
    MPI_Group_free(&other);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
