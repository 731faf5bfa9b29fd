/* A thread that has made MPI calls is cancelled while it sleeps between two of them.
 *
 * ranks: 2
 */
#include "hostile.h"

static volatile int sleeps;

static void *forever(void *unused)
{
    (void)unused;
    communicate(5);
    sleeps = 1;
    for (;;)
        pause();
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    for (int i = 0; i < 5; i++) {
        pthread_t thread;
        void *result;
        pthread_create(&thread, NULL, forever, NULL);
        while (!sleeps)
            usleep(1000);
        sleeps = 0;
        pthread_cancel(thread);
        REQUIRE(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    communicate(20);
    return finish();
}
