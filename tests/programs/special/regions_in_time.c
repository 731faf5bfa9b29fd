/* With `computes`, two steps of computing, of 40 and 20 ms of processor time, and 20 ms in no region. Without,
   ten steps, in each of which rank 1 assembles for 9 ms and the others for 3 ms, before all come together; then all work as long, and for as
   long again while counting is stopped. The region of it all begins before MPI does. */
#define _DEFAULT_SOURCE
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../check.h"
#include "../../../include/mel.h"

/* More regions than have numbers, deeper in each other than they may be, with names that are no parts of a path; one is never ended. */
static void many(void)
{
    char name[32];
    for (int number = 0; number < 300; number++) {
        snprintf(name, sizeof name, "step %d", number);
        mel_region_begin(name);
        mel_region_end(name);
    }
    for (int depth = 0; depth < 100; depth++)
        mel_region_begin("I/O");
    MPI_Barrier(MPI_COMM_WORLD);
    for (int depth = 0; depth < 99; depth++)
        mel_region_end("I/O");
}

/* Is on a processor for so long. */
static void compute(int milliseconds)
{
    struct timespec from, now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    while ((now.tv_sec - from.tv_sec) * 1000 + (now.tv_nsec - from.tv_nsec) / 1000000 < milliseconds);
}

static int computes(void)
{
    for (int step = 0; step < 2; step++) {
        mel_region_begin("step");
        mel_region_begin("assemble");
        compute(20);
        mel_region_end("assemble");
        compute(10);
        mel_region_end("step");
        MPI_Barrier(MPI_COMM_WORLD);
    }
    compute(20);
    return finish();
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "computes")) {
        MPI_Init(&argc, &argv);
        return computes();
    }
    mel_region_begin("main");
    MPI_Init(&argc, &argv);
    REQUIRE(world_size() == 4);
    if (argc > 1) {
        mel_region_begin("I/O");
        mel_region_end("I/O");
        many();
        return finish();
    }
    for (int step = 0; step < 10; step++) {
        mel_region_begin("step");
        mel_region_begin("assemble");
        usleep(world_rank() == 1 ? 9000 : 3000);
        mel_region_end("assemble");
        mel_region_begin("exchange");
        MPI_Barrier(MPI_COMM_WORLD);
        mel_region_end("exchange");
        mel_region_end("step");
    }
    mel_region_begin("output");
    usleep(40000);
    mel_stop();
    usleep(40000);
    mel_start();
    mel_region_end("output");
    mel_region_end("main");
    finish();
    return 0;
}
