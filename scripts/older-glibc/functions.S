# Functions of glibc by the versions that they had before 2.29, on x86-64. The linker (`cc` here) sends every use of NAME to
# __wrap_NAME. Each only jumps, so that the caller stays the caller: dlvsym wants to know it.
    .text

# A function that newer releases have moved or changed without changing its binary interface.
.macro older name version
    .symver older_\name, \name@\version
    .globl __wrap_\name
    .hidden __wrap_\name
    .type __wrap_\name, @function
__wrap_\name:
    jmp *older_\name@GOTPCREL(%rip)
    .size __wrap_\name, . - __wrap_\name
.endm

# Since 2.29 without a wrapper for errors, since 2.32 and 2.34 in libc.so.6 itself.
    older log GLIBC_2.2.5
    older log2 GLIBC_2.2.5
    older pow GLIBC_2.2.5
    older exp GLIBC_2.2.5
    older pthread_sigmask GLIBC_2.2.5
    older pthread_getattr_np GLIBC_2.2.5
    older dladdr GLIBC_2.2.5
    older dlclose GLIBC_2.2.5
    older dlerror GLIBC_2.2.5
    older dlopen GLIBC_2.2.5
    older dlsym GLIBC_2.2.5
    older dlvsym GLIBC_2.2.5
    older pthread_attr_getguardsize GLIBC_2.2.5
    older pthread_attr_getstack GLIBC_2.2.5
    older pthread_attr_setstacksize GLIBC_2.2.5
    older pthread_create GLIBC_2.2.5
    older pthread_detach GLIBC_2.2.5
    older pthread_join GLIBC_2.2.5
    older pthread_key_create GLIBC_2.2.5
    older pthread_key_delete GLIBC_2.2.5
    older pthread_setname_np GLIBC_2.12
    older pthread_setspecific GLIBC_2.2.5
    older pthread_getspecific GLIBC_2.2.5
    # The first versions of these had other identifiers for timers.
    older timer_create GLIBC_2.3.3
    older timer_delete GLIBC_2.3.3
    older timer_settime GLIBC_2.3.3

# Before 2.33 these had a number that says which `struct stat` is meant: the first argument; the others move on.
.macro older_stat name function version
    .globl __wrap_\name
    .hidden __wrap_\name
    .type __wrap_\name, @function
__wrap_\name:
    mov %rcx, %r8
    mov %rdx, %rcx
    mov %rsi, %rdx
    mov %rdi, %rsi
    mov $1, %edi
    jmp *\function@GOTPCREL(%rip)
    .size __wrap_\name, . - __wrap_\name
.endm

    older_stat stat __xstat64
    older_stat stat64 __xstat64
    older_stat lstat __lxstat64
    older_stat lstat64 __lxstat64
    older_stat fstat __fxstat64
    older_stat fstat64 __fxstat64
    older_stat fstatat64 __fxstatat64
    older_stat fstatat __fxstatat64

# The number of this thread. Not there before 2.30.
    .globl __wrap_gettid
    .hidden __wrap_gettid
    .type __wrap_gettid, @function
__wrap_gettid:
    mov $186, %eax
    syscall
    ret
    .size __wrap_gettid, . - __wrap_gettid

    .section .note.GNU-stack, "", @progbits
