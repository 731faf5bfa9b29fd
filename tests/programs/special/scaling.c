/* Odd ranks wait at three barriers, five times, for even ones, which sleep before them: 3 ms p, 0.3 ms p^2, 15 ms log2 p with p ranks. All
   compute for 20 ms each time. */
#include <time.h>

#include "../check.h"

static void sleep_ms(double ms)
{
    struct timespec time = {(time_t)(ms / 1e3), (long)(ms * 1e6) % 1000000000};
    if (world_rank() % 2 == 0)
        nanosleep(&time, NULL);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    double p = world_size(), log_p = 0;
    for (int ranks = world_size(); ranks > 1; ranks /= 2)
        log_p++;
    for (int step = 0; step < 5; step++) {
        struct timespec work = {0, 20000000};
        nanosleep(&work, NULL);
        MPI_Barrier(MPI_COMM_WORLD); /* line TOGETHER */
        sleep_ms(3 * p);
        MPI_Barrier(MPI_COMM_WORLD); /* line LINEAR */
        sleep_ms(0.3 * p * p);
        MPI_Barrier(MPI_COMM_WORLD); /* line SQUARE */
        sleep_ms(15 * log_p);
        MPI_Barrier(MPI_COMM_WORLD); /* line LOG */
    }
    return finish();
}
