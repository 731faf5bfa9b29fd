/* A thread that is not the main one calls MPI_Abort with a code of its own.
 *
 * ranks: 1
 * exit: 42
 * leaves: killed
 */
#include "hostile.h"

static void *other(void *unused)
{
    (void)unused;
    MPI_Abort(MPI_COMM_WORLD, 42);
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    pthread_t thread;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    communicate(20);
    pthread_create(&thread, NULL, other, NULL);
    pthread_join(thread, NULL);
    return 100;
}
