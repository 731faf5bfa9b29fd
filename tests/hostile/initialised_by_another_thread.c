/* MPI is initialised, used and finalized by a thread that is not the main one.
 *
 * ranks: 2
 */
#include "hostile.h"

static void *all(void *unused)
{
    (void)unused;
    int provided;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    communicate(50);
    finish();
    return NULL;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, all, NULL);
    pthread_join(thread, NULL);
    return 0;
}
