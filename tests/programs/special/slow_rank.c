/* The last rank comes late to a barrier, for a reason that is given: `faults` (pages that are new each time), `writes` (a file that is
   written through), `sleeps`, `stopped` (a child stops it and lets it go on), `hog` (a child computes on its processor), `computes`. In
   `twice` it computes twice as long as the others, in `alike` as long, by the time on a processor. Given a number of milliseconds for
   each of ten steps. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "../check.h"

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

static void compute_until(double until)
{
    while (now() < until)
        ;
}

static void fault_until(double until)
{
    size_t size = 8 << 20;
    while (now() < until) {
        char *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        REQUIRE(pages != MAP_FAILED);
        madvise(pages, size, MADV_NOHUGEPAGE);
        for (size_t at = 0; at < size; at += 4096)
            pages[at] = 1;
        munmap(pages, size);
    }
}

static void write_until(double until)
{
    static char block[1 << 20];
    int file = open("written", O_CREAT | O_WRONLY | O_TRUNC, 0600);
    REQUIRE(file >= 0);
    while (now() < until) {
        REQUIRE(pwrite(file, block, sizeof block, 0) == sizeof block);
        fdatasync(file);
    }
    close(file);
}

static void sleep_until(double until)
{
    double left = until - now();
    struct timespec time = {(time_t)left, (long)((left - (time_t)left) * 1e9)};
    nanosleep(&time, NULL);
}

static void stopped_until(double until)
{
    pid_t own = getpid(), child = fork();
    if (child == 0) {
        kill(own, SIGSTOP);
        sleep_until(until);
        kill(own, SIGCONT);
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

static void compute_for(double work_s)
{
    struct timespec used;
    double end = -1, spent;
    do {
        /* The time on a processor is a system call: most of it is to be work. */
        for (volatile int turn = 0; turn < 50000; turn++)
            ;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
        spent = used.tv_sec + used.tv_nsec * 1e-9;
        if (end < 0)
            end = spent + work_s;
    } while (spent < end);
}

static void beside_a_hog(double work_s)
{
    /* Both on one processor: half of the time each. */
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    pid_t child = fork();
    if (child == 0) {
        compute_until(now() + 2 * work_s);
        _exit(0);
    }
    compute_for(work_s);
    waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const char *mode = argc > 1 ? argv[1] : "computes";
    double length = (argc > 2 ? atof(argv[2]) : 50) * 1e-3;
    int slow = world_size() - 1;
    if (!strcmp(mode, "hog")) {
        /* A processor for each rank: the last one has a hog beside it. */
        cpu_set_t all, own;
        sched_getaffinity(0, sizeof all, &all);
        CPU_ZERO(&own);
        for (int cpu = 0, place = 0; cpu < CPU_SETSIZE; cpu++) {
            if (CPU_ISSET(cpu, &all) && place++ == world_rank() % CPU_COUNT(&all))
                CPU_SET(cpu, &own);
        }
        REQUIRE(sched_setaffinity(0, sizeof own, &own) == 0);
    }
    for (int step = 0; step < 10; step++) {
        double until = now() + length;
        if (!strcmp(mode, "hog")) {
            if (world_rank() == slow)
                beside_a_hog(length);
            else
                compute_until(until);
        } else if (!strcmp(mode, "alike")) {
            compute_for(length);
        } else if (!strcmp(mode, "twice")) {
            compute_for(world_rank() == slow ? length : length / 2);
        } else if (world_rank() == slow) {
            if (!strcmp(mode, "faults"))
                fault_until(until);
            else if (!strcmp(mode, "writes"))
                write_until(until);
            else if (!strcmp(mode, "sleeps"))
                sleep_until(until);
            else if (!strcmp(mode, "stopped"))
                stopped_until(until);
            else
                compute_until(until);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return finish();
}
