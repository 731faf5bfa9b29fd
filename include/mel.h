/**
 * @file
 * Phases of a program, for MEL: what `mel run` counts is counted by phase.
 *
 *     #include <mel.h>
 *
 *     mel_phase("setup");
 *     ...
 *     mel_phase("solve");
 *
 * Nothing is linked: the functions of MEL are looked up when the program calls one for the first time. Without MEL that is all
 * that happens. (Where the C library is glibc before 2.34, link with `-ldl`: without it nothing is found.)
 *
 * Call them where MPI may be called, by a thread that may call MPI: below `MPI_THREAD_MULTIPLE` not while another thread is in an
 * MPI call. What is set holds for the process, all its threads; other processes set theirs. `docs/phases.md` says what is counted where.
 *
 * For C99, C11 and C++ with GCC, Clang and compilers that are like these; for others the functions do nothing.
 */
#ifndef MEL_H
#define MEL_H

#if defined(__GNUC__)

#ifdef __cplusplus
extern "C" {
#endif
/* Under another name, so that <dlfcn.h> may be included or not. Weak: a program that is linked statically has none. */
extern void *mel_dlsym_(void *handle, const char *name) __asm__("dlsym") __attribute__((weak));
#ifdef __cplusplus
}
#endif

/** The function of this name, looked up once; null where there is none. For the functions below. */
static inline void *mel_find_(void **found, const char *name)
{
    void *known = __atomic_load_n(found, __ATOMIC_ACQUIRE);
    if (!known) {
        /* RTLD_DEFAULT is null. The address of the variable stands for "none". */
        void *(*volatile look)(void *, const char *) = mel_dlsym_;
        known = look ? look((void *)0, name) : (void *)0;
        if (!known)
            known = (void *)found;
        __atomic_store_n(found, known, __ATOMIC_RELEASE);
    }
    return known == (void *)found ? (void *)0 : known;
}

/**
 * The phase of this name begins, or goes on: what the program does from now on is counted in it. The same name is the same phase; there
 * are at most 254. `""` or a null pointer: what follows belongs to no phase, as what came before the first.
 */
static inline void mel_phase(const char *name)
{
    static void *found;
    union {
        void *address;
        void (*function)(const char *);
    } known;
    known.address = mel_find_(&found, "mel_phase");
    if (known.address)
        known.function(name);
}

/** For the functions below. */
static inline void mel_call_with_(void **found, const char *name, const char *argument)
{
    union {
        void *address;
        void (*function)(const char *);
    } known;
    known.address = mel_find_(found, name);
    if (known.address)
        known.function(argument);
}

/**
 * A region of this name begins in the calling thread, inside of the one that the thread is in: what it does from now on belongs to it, where
 * `mel run --attribute` attributes performance variables. Otherwise this does nothing. For any thread. `docs/regions.md` says more.
 */
static inline void mel_region_begin(const char *name)
{
    static void *found;
    mel_call_with_(&found, "mel_region_begin", name);
}

/** The region of this name ends in the calling thread: the one that was begun last. */
static inline void mel_region_end(const char *name)
{
    static void *found;
    mel_call_with_(&found, "mel_region_end", name);
}

/** For the functions below. */
static inline void mel_call_(void **found, const char *name)
{
    union {
        void *address;
        void (*function)(void);
    } known;
    known.address = mel_find_(found, name);
    if (known.address)
        known.function();
}

/** Nothing is counted from now on, until mel_start(). */
static inline void mel_stop(void)
{
    static void *found;
    mel_call_(&found, "mel_stop");
}

/** What the program does is counted again. */
static inline void mel_start(void)
{
    static void *found;
    mel_call_(&found, "mel_start");
}

/** What was counted until now is set to zero, in all phases. */
static inline void mel_reset(void)
{
    static void *found;
    mel_call_(&found, "mel_reset");
}

/**
 * A sample of the performance variables that `mel run --vars` samples is taken now, beside those that are taken at intervals. Nothing where
 * none are sampled.
 */
static inline void mel_sample(void)
{
    static void *found;
    mel_call_(&found, "mel_sample");
}

#else

static inline void mel_phase(const char *name)
{
    (void)name;
}
static inline void mel_stop(void)
{
}
static inline void mel_start(void)
{
}
static inline void mel_reset(void)
{
}
static inline void mel_sample(void)
{
}
static inline void mel_region_begin(const char *name)
{
    (void)name;
}
static inline void mel_region_end(const char *name)
{
    (void)name;
}

#endif

#endif
