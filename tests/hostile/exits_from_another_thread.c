/* After MPI_Finalize another thread ends the process, while the main thread waits for it.
 *
 * ranks: 1
 * exit: 5
 */
#include "hostile.h"

static void *other(void *unused)
{
    (void)unused;
    exit(5);
}

int main(int argc, char **argv)
{
    pthread_t thread;
    MPI_Init(&argc, &argv);
    communicate(50);
    finish();
    pthread_create(&thread, NULL, other, NULL);
    pthread_join(thread, NULL);
    return 100;
}
