/* What the programs about windows share: memory, and where it lies. */
#ifndef WINDOWS_H
#define WINDOWS_H

#include "../check.h"

#define WORDS 64

/* Prints the address of a window's memory in this process: addresses in the head comments are relative to that. */
static inline void tell_base(const char *window, const void *base)
{
    for (int rank = 0; rank < world_size(); ++rank) {
        if (rank == world_rank()) {
            printf("base %s %d %llu\n", window, rank, (unsigned long long)(uintptr_t)base);
            fflush(stdout);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* What a word holds before anybody writes to it. */
static inline void fill(int64_t *memory, int words)
{
    for (int i = 0; i < words; ++i)
        memory[i] = 1000 * world_rank() + i;
}

#endif
