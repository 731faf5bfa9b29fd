/* Preloaded into programs of an MPICH that is built on UCX, for two faults of that MPICH.
 * It never yields its processor, so that ranks without one of their own wait for the end of each other's time slices, in
 * every call that waits: a process that waits, and finds nothing several times in a row, sleeps for a moment here.
 * And MPI_Finalize waits for the launcher without progress, when its own connections are closed but those of others
 * still need an answer: over TCP one run in ten never ends. Whoever reads from a descriptor that has nothing progresses. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* As ucp/api/ucp.h declares them: how many things were done. */
unsigned ucp_worker_progress(void *worker);
void ucp_worker_destroy(void *worker);

typedef unsigned progress_function(void *worker);
typedef void destroy_function(void *worker);

static _Atomic(progress_function *) real_progress;
static _Thread_local void *progressed;
static _Thread_local int inside;

/* Interpreters load MPI out of reach of RTLD_NEXT. */
static void *find(const char *name)
{
    void *library = dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD);
    return dlsym(library ? library : RTLD_NEXT, name);
}

unsigned ucp_worker_progress(void *worker)
{
    enum { PATIENCE = 10 };
    static const struct timespec moment = {.tv_sec = 0, .tv_nsec = 60000};
    static _Thread_local unsigned in_vain;

    progress_function *next = atomic_load(&real_progress);
    if (!next) {
        next = (progress_function *)find("ucp_worker_progress");
        atomic_store(&real_progress, next);
    }
    progressed = worker;
    inside++;
    unsigned done = next(worker);
    inside--;
    if (done)
        in_vain = 0;
    else if (++in_vain > PATIENCE)
        nanosleep(&moment, NULL);
    return done;
}

void ucp_worker_destroy(void *worker)
{
    progressed = NULL;
    ((destroy_function *)find("ucp_worker_destroy"))(worker);
}

ssize_t read(int descriptor, void *buffer, size_t size)
{
    struct pollfd wanted = {.fd = descriptor, .events = POLLIN};
    int waits = progressed && !inside && !(fcntl(descriptor, F_GETFL) & O_NONBLOCK);
    while (waits && poll(&wanted, 1, 1) == 0)
        ucp_worker_progress(progressed);
    return syscall(SYS_read, descriptor, buffer, size);
}
