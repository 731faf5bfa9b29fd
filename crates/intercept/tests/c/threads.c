/* Four threads, each with 100 send-receives of its own: 400 in all. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

static void *work(void *argument)
{
    int me = (int)(long)argument, in;
    for (int i = 0; i < 100; i++)
        MPI_Sendrecv(&me, 1, MPI_INT, 0, me, &in, 1, MPI_INT, 0, me, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    pthread_t threads[4];
    if (provided == MPI_THREAD_MULTIPLE) {
        for (long i = 0; i < 4; i++)
            pthread_create(&threads[i], NULL, work, (void *)i);
        for (int i = 0; i < 4; i++)
            pthread_join(threads[i], NULL);
    }
    printf("%s\n", provided == MPI_THREAD_MULTIPLE ? "multiple" : "less");
    MPI_Finalize();
    return 0;
}
