/* What the test programs share: a check that ends the run, a checksum, and the closing lines.
 *
 * A program calls `mix` on everything that it received. The checksum does not depend on the order of
 * the calls, so that programs whose messages arrive in any order still print one fixed line. `finish`
 * adds up the checksums of all ranks; rank 0 prints the sum and "OK", the only lines on standard output
 * that a program needs.
 *
 * Every function here uses collective operations only: MPI's internal messages are not part of the
 * event sequence that a program promises in its head comment. README.md explains that comment.
 */
#ifndef CHECK_H
#define CHECK_H

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t checksum;

/* Ends the whole run with exit code 1 and says where, if the condition does not hold. */
#define REQUIRE(condition)                                                                             \
    do {                                                                                               \
        if (!(condition)) {                                                                            \
            int require_rank = -1;                                                                     \
            MPI_Comm_rank(MPI_COMM_WORLD, &require_rank);                                              \
            fprintf(stderr, "%s:%d: rank %d: not true: %s\n", __FILE__, __LINE__, require_rank, #condition); \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                              \
        }                                                                                              \
    } while (0)

/* Spreads the bits of a value, so that different sets of values have different sums. */
static inline uint64_t scramble(uint64_t value)
{
    value += 0x632be59bd9b4e019u;
    value ^= value >> 29;
    value *= 0x9e3779b97f4a7c15u;
    value ^= value >> 32;
    return value;
}

/* Adds one received value to this rank's checksum. Not for use by several threads at a time. */
static inline void mix(uint64_t value)
{
    checksum += scramble(value);
}

static inline int world_rank(void)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

static inline int world_size(void)
{
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
}

/* Prints the common checksum and "OK" on rank 0, then finalizes MPI. */
static inline int finish(void)
{
    uint64_t total = 0;
    MPI_Reduce(&checksum, &total, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (world_rank() == 0) {
        printf("checksum %016llx\nOK\n", (unsigned long long)total);
        fflush(stdout);
    }
    MPI_Finalize();
    return 0;
}

#endif
