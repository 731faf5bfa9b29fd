/* The main thread ends after MPI_Init; another one does the work, finalizes MPI and ends the process.
 *
 * ranks: 2
 */
#include "hostile.h"

static void *other(void *unused)
{
    (void)unused;
    usleep(20000);
    communicate(50);
    exit(finish());
}

int main(int argc, char **argv)
{
    int provided;
    pthread_t thread;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    pthread_create(&thread, NULL, other, NULL);
    pthread_exit(NULL);
}
