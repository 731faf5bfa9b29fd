/* Broadcasts of 1 MiB from rank 0 to rank 1, in the phases "first" and "second", each half of them. Two ranks.
 *
 * planes [COUNT [HOW]]: so many broadcasts, 100 if nothing is given. HOW is "kill": rank 1 kills itself after the first phase.
 *
 * Each rank prints a line "links RANK WHEN ..." after MPI_Init and before MPI_Finalize: what `ip -s -j link` says.
 */
#define _GNU_SOURCE
#include "../check.h"
#include "../../../include/mel.h"
#include <signal.h>
#include <unistd.h>

enum { MIB = 1 << 20 };

/* What the interfaces have counted, as the system's own tool says. */
static void links(int rank, const char *when)
{
    static char text[1 << 16];
    FILE *ip = popen("ip -s -j link 2>/dev/null", "r");
    size_t size = ip ? fread(text, 1, sizeof text - 1, ip) : 0;
    text[size] = 0;
    for (char *c = text; *c; c++)
        if (*c == '\n')
            *c = ' ';
    if (ip)
        pclose(ip);
    printf("links %d %s %s\n", rank, when, text);
    fflush(stdout);
}

/* MPICH 4.0.2 over UCX's TCP does not leave MPI_Finalize in one of three to ten runs, without any tool. All that is tested has been
 * counted when MPI_Finalize is entered. */
static void leave(int signal)
{
    (void)signal;
    _exit(EXIT_SUCCESS);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int count = argc > 1 ? atoi(argv[1]) : 100, rank = world_rank();
    int is_killed = argc > 2 && strcmp(argv[2], "kill") == 0;
    REQUIRE(world_size() == 2 && count > 0);
    unsigned char *buffer = malloc(MIB);
    REQUIRE(buffer != NULL);
    links(rank, "before");
    for (int i = 0; i < count; i++) {
        if (i == 0 || i == count / 2)
            mel_phase(i == 0 ? "first" : "second");
        if (is_killed && i == count / 2 && rank == 1)
            raise(SIGKILL);
        memset(buffer, rank ? 0xff : i, MIB);
        MPI_Bcast(buffer, MIB, MPI_BYTE, 0, MPI_COMM_WORLD);
        REQUIRE(buffer[0] == (unsigned char)i && buffer[MIB - 1] == (unsigned char)i);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    links(rank, "after");
    free(buffer);
    signal(SIGALRM, leave);
    alarm(5);
    return finish();
}
