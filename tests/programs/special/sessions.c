/* Messages in communicators that are made from a session, without MPI_Init or, with the argument `world`, after it. In each, every
 * rank receives ROUNDS messages from its left neighbour. With `freed` the first one is freed before that, and the ring is also in one that is
 * split from its duplicate. With `closed` MPI_Init comes when all is freed and the session has ended, and the ring in MPI_COMM_WORLD and one
 * that is split from it. With `late` MPI_Init comes after that, and the same in MPI_COMM_WORLD; with
 * `part` no communicator has all processes. With `fewer`, and these, there is none that MPI_Comm_create_group makes, in which MPICH
 * 4.0 crashes without MPI_Init. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 10 };

#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
/* How many messages were wrong. */
static int ring(MPI_Comm comm)
{
    int rank, size, wrong = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    for (int round = 0; round < ROUNDS; round++) {
        int sent = 100 * round + rank, received = -1;
        MPI_Request request;
        MPI_Status status;
        MPI_Irecv(&received, 1, MPI_INT, left, 5, comm, &request);
        MPI_Send(&sent, 1, MPI_INT, right, 5, comm);
        MPI_Wait(&request, &status);
        wrong += received != 100 * round + left || status.MPI_SOURCE != left;
    }
    return wrong;
}
#endif

#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
/* MPICH 5 fails where one process initialises it again while another still ends it: each says so in a file, of which all have the same launcher
 * in the name. */
static void until_all_are_here(int rank, int size)
{
    char name[64];
    struct timespec moment = {0, 1000000};
    snprintf(name, sizeof name, "/tmp/sessions-%d-%d", (int)getppid(), rank);
    FILE *file = fopen(name, "w");
    if (file)
        fclose(file);
    for (int other = 0; other < size; other++) {
        snprintf(name, sizeof name, "/tmp/sessions-%d-%d", (int)getppid(), other);
        for (int tries = 0; tries < 10000 && access(name, F_OK); tries++)
            nanosleep(&moment, 0);
    }
}

static void is_over(int rank)
{
    char name[64];
    snprintf(name, sizeof name, "/tmp/sessions-%d-%d", (int)getppid(), rank);
    unlink(name);
}
#endif

int main(int argc, char **argv)
{
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
    const char *how = argc > 1 ? argv[1] : "";
    if (!strcmp(how, "world"))
        MPI_Init(&argc, &argv);
    MPI_Session session;
    MPI_Group group;
    MPI_Comm made, comm, of_group;
    if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session)) {
        puts("no sessions");
        return 0;
    }
    MPI_Group_from_session_pset(session, strcmp(how, "part") ? "mpi://WORLD" : "mpi://SELF", &group);
    MPI_Comm_create_from_group(group, "org.example.sessions", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &made);
    MPI_Comm_dup(made, &comm);
    if (!*how || !strcmp(how, "world"))
        MPI_Comm_create_group(comm, group, 7, &of_group);
    else
        MPI_Comm_dup(comm, &of_group);
    int rank, size, any = 0, wrong = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    if (!strcmp(how, "freed")) {
        MPI_Comm split;
        MPI_Comm_free(&made);
        MPI_Comm_split(comm, 0, rank, &split);
        wrong += ring(split);
        MPI_Comm_free(&split);
    }
    wrong += ring(comm) + ring(of_group);
    if (!strcmp(how, "late")) {
        MPI_Init(&argc, &argv);
        wrong += ring(MPI_COMM_WORLD);
    }
    MPI_Allreduce(&wrong, &any, 1, MPI_INT, MPI_SUM, comm);
    /* Of communicators of one process each there are several first ones. */
    const char *first[] = {getenv("PMI_RANK"), getenv("OMPI_COMM_WORLD_RANK")};
    int is_first = rank == 0;
    for (int each = 0; each < 2; each++)
        is_first = is_first && (!first[each] || !strcmp(first[each], "0"));
    if (is_first)
        puts(any ? "wrong" : "OK");
    fflush(stdout);
    MPI_Comm_free(&of_group);
    MPI_Comm_free(&comm);
    if (made != MPI_COMM_NULL)
        MPI_Comm_free(&made);
    MPI_Group_free(&group);
    MPI_Session_finalize(&session);
    if (!strcmp(how, "closed")) {
        MPI_Comm split;
        struct timespec moment = {0, 100000000};
        until_all_are_here(rank, size);
        MPI_Init(&argc, &argv);
        MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &split);
        wrong = ring(MPI_COMM_WORLD) + ring(split);
        nanosleep(&moment, 0);
        MPI_Comm_free(&split);
        MPI_Finalize();
        is_over(rank);
        if (wrong)
            puts("wrong");
    }
    if (!strcmp(how, "world") || !strcmp(how, "late"))
        MPI_Finalize();
#else
    (void)argc;
    (void)argv;
    puts("no sessions");
#endif
    return 0;
}
