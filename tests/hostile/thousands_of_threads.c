/* Twelve hundred threads, each of which makes one round of calls and ends: nothing of them is left.
 *
 * ranks: 2
 */
#include "hostile.h"

static void *one(void *unused)
{
    (void)unused;
    communicate(1);
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    for (int i = 0; i < 1200; i++) {
        pthread_t thread;
        REQUIRE(pthread_create(&thread, NULL, one, NULL) == 0);
        REQUIRE(pthread_join(thread, NULL) == 0);
    }
    return finish();
}
