/* Buffered persistent sends of 4096 bytes, which threads start again and again: an MPI may give a request another handle as it starts
 * it, where its data has not all gone out (Open MPI does). Rank 0 has THREADS threads, each with a request of its own and STARTS starts;
 * rank 1 receives all with named tags. Prints how many messages were received.
 */
#include <pthread.h>

#include "../check.h"

enum { THREADS = 4, STARTS = 24, BYTES = 4096 };

static void *send_all(void *number)
{
    int tag = *(int *)number;
    char data[BYTES];
    MPI_Request request;
    memset(data, tag, sizeof data);
    MPI_Bsend_init(data, BYTES, MPI_CHAR, 1, tag, MPI_COMM_WORLD, &request);
    for (int i = 0; i < STARTS; i++) {
        if (i % 2)
            MPI_Start(&request);
        else
            MPI_Startall(1, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
    return NULL;
}

int main(int argc, char **argv)
{
    int provided, tags[THREADS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    REQUIRE(provided == MPI_THREAD_MULTIPLE);
    if (world_rank() == 0) {
        pthread_t threads[THREADS];
        int room = THREADS * STARTS * (BYTES + MPI_BSEND_OVERHEAD + 256);
        void *buffer = malloc(room);
        MPI_Buffer_attach(buffer, room);
        for (int i = 0; i < THREADS; i++) {
            tags[i] = i + 1;
            REQUIRE(!pthread_create(&threads[i], NULL, send_all, &tags[i]));
        }
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Buffer_detach(&buffer, &room);
    } else {
        char data[BYTES];
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < THREADS * STARTS; i++) {
            int tag = 1 + i % THREADS;
            MPI_Recv(data, BYTES, MPI_CHAR, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            REQUIRE(data[BYTES - 1] == tag);
        }
        printf("%d messages\n", THREADS * STARTS);
    }
    MPI_Finalize();
    return 0;
}
