/* Rank 1 works before it comes to a barrier, and rank 0 waits: for 10 ms each time in "solve", 20 times. In "write" nobody is late. */
#include "../check.h"
#include "../../../include/mel.h"

static void barriers(const char *phase, int late_ms)
{
    mel_phase(phase);
    for (int step = 0; step < 20; step++) {
        if (world_rank() == 1) {
            double until = MPI_Wtime() + late_ms * 1e-3;
            while (MPI_Wtime() < until)
                ;
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    REQUIRE(world_size() == 2);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int round = 0; round < 2; round++) {
        barriers("solve", 10);
        barriers("write", 0);
    }
    mel_phase("");
    return finish();
}
