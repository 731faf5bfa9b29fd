/* A program that closes descriptors which it has not opened, and opens files of its own on their numbers.

   ours MESSAGES DIRECTORY: closes what leads into the directory, and shared memory of MEL's.
   late MESSAGES DIRECTORY: the same, but only after half of the messages.
   all MESSAGES DIRECTORY: closes every file from 3 on, whoever has opened it, but sockets, pipes and the like: an MPI does not survive
   without these.

   Then it makes MEL need more space: so many messages on many communicators, from many lines. At the end its files are as they were
   written, byte for byte. */
#define _GNU_SOURCE
#include "../check.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST = 1024, BYTES = 9000, COMMUNICATORS = 300 };

static int taken[MOST];
static char names[MOST][64];

static char content(int file, int at)
{
    return (char)scramble((uint64_t)file << 32 | (uint64_t)at);
}

/* Whether a descriptor is one that MEL has opened. */
static int is_mels(int descriptor, const char *directory)
{
    char path[64], leads_to[4096];
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(path, leads_to, sizeof leads_to - 1);
    if (length < 0)
        return 0;
    leads_to[length] = 0;
    return strstr(leads_to, "memfd:mel") != NULL || strncmp(leads_to, directory, strlen(directory)) == 0;
}

/* Whether a descriptor leads to a file, in memory or on a disk. */
static int is_file(int descriptor)
{
    struct stat status;
    return fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
}

/* A file of the program's under this number. */
static void take(int number)
{
    char bytes[BYTES];
    strcpy(names[number], "closes-descriptors-XXXXXX");
    int file = mkstemp(names[number]);
    REQUIRE(file >= 0);
    if (file != number) {
        REQUIRE(dup2(file, number) == number);
        close(file);
    }
    for (int at = 0; at < BYTES; at++)
        bytes[at] = content(number, at);
    REQUIRE(write(number, bytes, BYTES) == BYTES);
    taken[number] = 1;
}

static void close_and_take(int all, const char *directory)
{
    for (int number = 3; number < MOST; number++)
        if (!taken[number] && (all ? is_file(number) : is_mels(number, directory))) {
            close(number);
            take(number);
        }
}

/* After MPI_Finalize, in which an MPI may close the number: whether the file is as it was written. */
static int is_unchanged(int number)
{
    char bytes[2 * BYTES];
    int file = open(names[number], O_RDONLY);
    int same = read(file, bytes, sizeof bytes) == BYTES;
    close(file);
    for (int at = 0; same && at < BYTES; at++)
        same = bytes[at] == content(number, at);
    if (!same)
        fprintf(stderr, "%s is not as it was written\n", names[number]);
    unlink(names[number]);
    return same;
}

/* A message around the ring of all ranks, from several lines. */
static void pass(MPI_Comm comm, int message)
{
    int rank = world_rank(), size = world_size(), next = (rank + 1) % size, last = (rank + size - 1) % size, got = -1;
    MPI_Request requests[2];
    switch (message % 3) {
    case 0:
        MPI_Sendrecv(&message, 1, MPI_INT, next, 1, &got, 1, MPI_INT, last, 1, comm, MPI_STATUS_IGNORE);
        break;
    case 1:
        MPI_Irecv(&got, 1, MPI_INT, last, 2, comm, &requests[0]);
        MPI_Isend(&message, 1, MPI_INT, next, 2, comm, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        break;
    default:
        MPI_Irecv(&got, 1, MPI_INT, last, 3, comm, &requests[0]);
        MPI_Send(&message, 1, MPI_INT, next, 3, comm);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    }
    REQUIRE(got == message);
    mix((uint64_t)got);
}

int main(int argc, char **argv)
{
    static MPI_Comm comms[COMMUNICATORS];
    int rank, far, got = -1;
    if (argc != 4)
        return 2;
    int all = strcmp(argv[1], "all") == 0, late = strcmp(argv[1], "late") == 0, messages = atoi(argv[2]);
    MPI_Init(&argc, &argv);
    rank = world_rank();
    /* What every rank does before it closes anything stays. */
    for (int message = 0; message < 300; message++)
        pass(MPI_COMM_WORLD, message);
    MPI_Barrier(MPI_COMM_WORLD);
    if (!late)
        close_and_take(all, argv[3]);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int comm = 0; comm < COMMUNICATORS; comm++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[comm]);
    /* With four ranks, another peer than before. */
    far = (rank + world_size() / 2) % world_size();
    MPI_Sendrecv(&far, 1, MPI_INT, far, 4, &got, 1, MPI_INT, MPI_ANY_SOURCE, 4, comms[0], MPI_STATUS_IGNORE);
    REQUIRE(world_size() % 2 || got == rank);
    for (int message = 0; message < messages; message++) {
        if (late && message == messages / 2)
            close_and_take(0, argv[3]);
        pass(comms[message % COMMUNICATORS], message);
    }
    for (int comm = 0; comm < COMMUNICATORS; comm++)
        MPI_Comm_free(&comms[comm]);
    int code = finish();
    for (int number = 0; number < MOST; number++)
        if (taken[number])
            code |= !is_unchanged(number);
    return code;
}
