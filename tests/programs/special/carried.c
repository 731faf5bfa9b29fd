/* Broadcasts of 1 MiB from rank 0 to rank 1, and beside them input and output of the program itself, through the functions by
 * which MPI libraries move data. Two ranks.
 *
 * carried [COUNT]: so many broadcasts, 100 if nothing is given.
 *
 * Each rank prints a line "buffer RANK BEGIN END" with the addresses of what is broadcast. Where the library copies from memory
 * to memory, rank 1 reads COUNT MiB of rank 0, and nothing else moves so: what the program itself moves, and how often, is not of
 * interest. Where the system lets nobody read another process's memory, rank 1 prints "unreadable". Each of its own calls must give what the system gives, with the same errno.
 */
#define _GNU_SOURCE
#include "../check.h"
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MIB = 1 << 20 };

static int in_handler[2];

/* Async-signal-safe functions only. */
static void on_signal(int number)
{
    char byte = (char)number;
    int before = errno;
    send(in_handler[0], &byte, 1, 0);
    errno = before;
}

/* Sends and receives in all ways through the two ends of a connection. */
static void move(int a, int b)
{
    char here[16] = "0123456789abcde", there[16];
    struct iovec out[2] = { { here, 4 }, { here + 4, 12 } }, in[2] = { { there, 10 }, { there + 10, 6 } };
    struct msghdr sent = { .msg_iov = out, .msg_iovlen = 2 }, received = { .msg_iov = in, .msg_iovlen = 2 };
    for (int way = 0; way < 3; way++) {
        memset(there, 0, sizeof there);
        ssize_t gone = way == 0   ? send(a, here, 16, 0)
                       : way == 1 ? writev(a, out, 2)
                                  : sendmsg(a, &sent, 0);
        REQUIRE(gone == 16);
        REQUIRE(recv(b, there, 3, MSG_PEEK) == 3);
        ssize_t come = way == 0   ? recv(b, there, 16, MSG_WAITALL)
                       : way == 1 ? readv(b, in, 2)
                                  : recvmsg(b, &received, MSG_WAITALL);
        REQUIRE(come == 16 && memcmp(here, there, 16) == 0);
    }
    errno = 0;
    REQUIRE(recv(b, there, 16, MSG_DONTWAIT) == -1 && errno == EAGAIN);
}

static void own_io(void)
{
    int pair[2], pipes[2], listening = socket(AF_INET, SOCK_STREAM, 0);
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 && pipe(pipes) == 0 && listening >= 0);
    move(pair[0], pair[1]);
    /* Over TCP, as transports do it. */
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof address;
    REQUIRE(bind(listening, (void *)&address, size) == 0 && listen(listening, 1) == 0);
    REQUIRE(getsockname(listening, (void *)&address, &size) == 0);
    int client = socket(AF_INET, SOCK_STREAM, 0);
    REQUIRE(client >= 0 && connect(client, (void *)&address, size) == 0);
    int server = accept(listening, NULL, NULL);
    REQUIRE(server >= 0);
    move(client, server);
    /* Files, and errors. */
    char here[8] = "memory!", there[8] = "";
    struct iovec from = { here, 8 }, to = { there, 8 };
    REQUIRE(writev(pipes[1], &from, 1) == 8 && readv(pipes[0], &to, 1) == 8 && strcmp(there, here) == 0);
    errno = 0;
    REQUIRE(send(pipes[1], here, 1, 0) == -1 && errno == ENOTSOCK);
    errno = 0;
    REQUIRE(writev(-1, &from, 1) == -1 && errno == EBADF);
    /* Memory; a system may forbid that altogether. */
    memset(there, 0, sizeof there);
    errno = 4711;
    ssize_t read = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
    REQUIRE(read == -1 || (read == 8 && strcmp(there, here) == 0 && errno == 4711));
    here[0] = 'M';
    REQUIRE(process_vm_writev(getpid(), &from, 1, &to, 1, 0) == read && (read < 0 || there[0] == 'M'));
    errno = 0;
    REQUIRE(process_vm_readv(-1, &to, 1, &from, 1, 0) == -1 && errno != 0);
    /* In a signal handler, and in a child. */
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, in_handler) == 0);
    REQUIRE(signal(SIGUSR1, on_signal) != SIG_ERR && raise(SIGUSR1) == 0);
    REQUIRE(recv(in_handler[1], there, 8, 0) == 1 && there[0] == SIGUSR1);
    pid_t child = fork();
    if (child == 0)
        _exit(send(in_handler[0], "c", 1, 0) == 1 && recv(in_handler[1], there, 1, 0) == 1 ? 7 : 1);
    int status = 0;
    REQUIRE(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
    int all[] = { pair[0], pair[1], pipes[0], pipes[1], listening, client, server, in_handler[0], in_handler[1] };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        close(all[i]);
}

/* Rank 1 reads the memory of rank 0 by itself. */
static void read_other(int rank)
{
    static uint64_t value = 4711;
    uint64_t place[2] = { (uint64_t)getpid(), (uint64_t)(uintptr_t)&value }, there = 0;
    MPI_Bcast(place, 2, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    if (rank == 1) {
        struct iovec to = { &there, sizeof there }, from = { (void *)(uintptr_t)place[1], sizeof there };
        if (process_vm_readv((pid_t)place[0], &to, 1, &from, 1, 0) < 0)
            printf("unreadable\n");
        else
            REQUIRE(there == 4711);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int count = argc > 1 ? atoi(argv[1]) : 100, rank = world_rank();
    REQUIRE(world_size() == 2 && count > 0);
    unsigned char *buffer = malloc(MIB);
    REQUIRE(buffer != NULL);
    printf("buffer %d %llu %llu\n", rank, (unsigned long long)(uintptr_t)buffer,
           (unsigned long long)(uintptr_t)(buffer + MIB));
    own_io();
    read_other(rank);
    for (int i = 0; i < count; i++) {
        memset(buffer, rank ? 0xff : i, MIB);
        MPI_Bcast(buffer, MIB, MPI_BYTE, 0, MPI_COMM_WORLD);
        REQUIRE(buffer[0] == (unsigned char)i && buffer[MIB - 1] == (unsigned char)i);
        if (i % 10 == 0)
            own_io();
    }
    free(buffer);
    return finish();
}
