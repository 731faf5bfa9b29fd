/* Sends N messages from rank 0 to rank 1, 30 by default, a tenth at a time and with pauses of 20 ms; then 5 on a communicator that is made and
   freed. `asks`: after each tenth the program asks for a sample. Whoever reads variables, the thread level stays what it was. */
#define _DEFAULT_SOURCE
#include <unistd.h>

#include "../check.h"
#include "../../../include/mel.h"

static void send_some(int messages, MPI_Comm comm)
{
    int data = 0;
    for (int i = 0; i < messages; i++) {
        if (world_rank() == 0)
            MPI_Send(&i, 1, MPI_INT, 1, 1, comm);
        if (world_rank() == 1) {
            MPI_Recv(&data, 1, MPI_INT, 0, 1, comm, MPI_STATUS_IGNORE);
            REQUIRE(data == i);
            mix(data);
        }
    }
}

int main(int argc, char **argv)
{
    int provided, level;
    MPI_Comm other;
    int messages = argc > 1 ? atoi(argv[1]) : 30;
    int asks = argc > 2 && !strcmp(argv[2], "asks");
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    REQUIRE(world_size() == 2);
    for (int part = 0; part < 10; part++) {
        send_some(messages / 10, MPI_COMM_WORLD);
        if (asks)
            mel_sample();
        usleep(20000);
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MPI_Comm_set_name(other, "the other");
    send_some(5, other);
    MPI_Comm_free(&other);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Query_thread(&level);
    REQUIRE(level == provided);
    finish();
    return 0;
}
