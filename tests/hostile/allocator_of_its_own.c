/* The program has malloc and its kin itself, and they fail for more than 64 MiB at once.
 *
 * ranks: 2
 */
#include "hostile.h"

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void __libc_free(void *);

enum { MOST = 64 << 20 };

void *malloc(size_t bytes)
{
    return bytes > MOST ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    return bytes && count > MOST / bytes ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *old, size_t bytes)
{
    return bytes > MOST ? NULL : __libc_realloc(old, bytes);
}

void free(void *old)
{
    __libc_free(old);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    communicate(200);
    return finish();
}
