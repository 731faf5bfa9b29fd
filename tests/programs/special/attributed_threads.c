/* MPI_THREAD_MULTIPLE: two threads of each rank, each in a region of its own, send to and receive from their like on the other rank. */
#include <pthread.h>

#include "../check.h"
#include "../../../include/mel.h"

enum { MESSAGES = 200 };

static void *work(void *argument)
{
    int number = *(int *)argument, other = 1 - world_rank(), data = 0;
    char name[16];
    snprintf(name, sizeof name, "thread %d", number);
    mel_region_begin(name);
    for (int i = 0; i < MESSAGES; i++)
        MPI_Sendrecv(&i, 1, MPI_INT, other, number, &data, 1, MPI_INT, other, number, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    mel_region_end(name);
    return NULL;
}

int main(int argc, char **argv)
{
    int provided, numbers[2] = {0, 1};
    pthread_t threads[2];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    REQUIRE(world_size() == 2);
    if (provided == MPI_THREAD_MULTIPLE) {
        for (int i = 0; i < 2; i++)
            pthread_create(&threads[i], NULL, work, &numbers[i]);
        for (int i = 0; i < 2; i++)
            pthread_join(threads[i], NULL);
    } else {
        puts("no threads");
    }
    finish();
    return 0;
}
