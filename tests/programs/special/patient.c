/* Preloaded into programs of an MPICH that is built on UCX: a process that waits, and finds nothing several times in a
 * row, sleeps for a moment. MPICH itself never yields its processor, so that ranks without one of their own wait for
 * the end of each other's time slices, in every call that waits. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <time.h>

/* As ucp/api/ucp.h declares it: how many things it has done. */
unsigned ucp_worker_progress(void *worker);

typedef unsigned progress_function(void *worker);

/* Interpreters load MPI out of reach of RTLD_NEXT. */
static progress_function *find(void)
{
    void *library = dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD);
    return (progress_function *)dlsym(library ? library : RTLD_NEXT, "ucp_worker_progress");
}

unsigned ucp_worker_progress(void *worker)
{
    enum { PATIENCE = 10 };
    static const struct timespec moment = {.tv_sec = 0, .tv_nsec = 60000};
    static _Atomic(progress_function *) real;
    static _Thread_local unsigned in_vain;

    progress_function *next = atomic_load(&real);
    if (!next) {
        next = find();
        atomic_store(&real, next);
    }
    unsigned done = next(worker);
    if (done)
        in_vain = 0;
    else if (++in_vain > PATIENCE)
        nanosleep(&moment, NULL);
    return done;
}
