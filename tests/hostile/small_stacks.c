/* MPI is called by threads with 256 KiB of stack.
 *
 * ranks: 2
 */
#include "hostile.h"

static void *some(void *unused)
{
    (void)unused;
    communicate(20);
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    pthread_t thread;
    pthread_attr_t small;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    pthread_attr_init(&small);
    REQUIRE(pthread_attr_setstacksize(&small, 256 << 10) == 0);
    REQUIRE(pthread_create(&thread, &small, some, NULL) == 0);
    pthread_join(thread, NULL);
    communicate(20);
    return finish();
}
