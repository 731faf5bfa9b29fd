/* Ten steps: each rank sends its right neighbour 100 bytes in `halo`, 1000 in `halo/inner` in every second of them, and 10 in no region;
 * in `sum` is a reduction of 8 bytes. */
#include "../check.h"
#include "../../../include/mel.h"

static void to_the_right(int bytes)
{
    char sent[1000] = {0}, received[1000];
    int rank = world_rank(), size = world_size();
    MPI_Sendrecv(sent, bytes, MPI_CHAR, (rank + 1) % size, bytes, received, bytes, MPI_CHAR, (rank + size - 1) % size, bytes,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    for (int step = 0; step < 10; step++) {
        double one = 1, all = 0;
        mel_region_begin("halo");
        to_the_right(100);
        if (step % 2) {
            mel_region_begin("inner");
            to_the_right(1000);
            mel_region_end("inner");
        }
        mel_region_end("halo");
        mel_region_begin("sum");
        MPI_Allreduce(&one, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        mel_region_end("sum");
        REQUIRE(all == world_size());
        to_the_right(10);
    }
    return finish();
}
