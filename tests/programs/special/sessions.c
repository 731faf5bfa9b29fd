/* Messages in communicators that are made from a session, without MPI_Init or, with the argument `world`, after it. In each, every
 * rank receives ROUNDS messages from its left neighbour. With `late` MPI_Init comes after that, and the same in MPI_COMM_WORLD; with
 * `part` no communicator has all processes. With `fewer`, and these, there is none that MPI_Comm_create_group makes, in which MPICH
 * 4.0 crashes without MPI_Init. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

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
    int rank, any = 0;
    MPI_Comm_rank(comm, &rank);
    int wrong = ring(comm) + ring(of_group);
    if (!strcmp(how, "late")) {
        MPI_Init(&argc, &argv);
        wrong += ring(MPI_COMM_WORLD);
    }
    MPI_Allreduce(&wrong, &any, 1, MPI_INT, MPI_SUM, comm);
    if (rank == 0)
        puts(any ? "wrong" : "OK");
    fflush(stdout);
    MPI_Comm_free(&of_group);
    MPI_Comm_free(&comm);
    MPI_Comm_free(&made);
    MPI_Group_free(&group);
    MPI_Session_finalize(&session);
    if (!strcmp(how, "world") || !strcmp(how, "late"))
        MPI_Finalize();
#else
    (void)argc;
    (void)argv;
    puts("no sessions");
#endif
    return 0;
}
