/* Two threads, each with a session of its own and a communicator of all processes, in which they sum up: the first thread is late on one rank,
 * and the second on the other. */
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
static pthread_barrier_t both;
static int late;

static void *sum(void *which)
{
    struct timespec moment = {0, 20000000};
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    MPI_Info info;
    int one = 1, all = 0, wrong = 0, size = 0;
    int thread = *(int *)which;
    MPI_Info_create(&info);
    MPI_Info_set(info, "thread_level", "MPI_THREAD_MULTIPLE");
    if (MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, &session))
        exit(1);
    MPI_Info_free(&info);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    pthread_barrier_wait(&both);
    if (thread == late)
        nanosleep(&moment, 0);
    MPI_Comm_create_from_group(group, thread ? "second" : "first", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Comm_size(comm, &size);
    for (int round = 0; round < 20; round++) {
        MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, comm);
        wrong += all != size;
    }
    MPI_Comm_free(&comm);
    MPI_Group_free(&group);
    pthread_barrier_wait(&both);
    MPI_Session_finalize(&session);
    return wrong ? which : 0;
}
#endif

int main(void)
{
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
    const char *names[] = {"PMI_RANK", "OMPI_COMM_WORLD_RANK"};
    int numbers[] = {0, 1}, rank = 0;
    for (int each = 0; each < 2; each++)
        if (getenv(names[each]))
            rank = atoi(getenv(names[each]));
    late = rank % 2;
    pthread_t threads[2];
    void *wrong[2];
    pthread_barrier_init(&both, 0, 2);
    for (int each = 0; each < 2; each++)
        pthread_create(&threads[each], 0, sum, &numbers[each]);
    for (int each = 0; each < 2; each++)
        pthread_join(threads[each], &wrong[each]);
    if (rank == 0)
        puts(wrong[0] || wrong[1] ? "wrong" : "OK");
#else
    puts("no sessions");
#endif
    return 0;
}
