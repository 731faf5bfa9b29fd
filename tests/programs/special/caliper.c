/* Names its regions by Caliper's functions, where there are any: the program is linked to Caliper, or to none. */
#include "../check.h"

extern void cali_begin_region(const char *name) __attribute__((weak));
extern void cali_end_region(const char *name) __attribute__((weak));

int main(int argc, char **argv)
{
    int data = 0;
    void (*volatile begin)(const char *) = cali_begin_region, (*volatile end)(const char *) = cali_end_region;
    MPI_Init(&argc, &argv);
    REQUIRE(world_size() == 2);
    for (int step = 0; step < 3; step++) {
        if (begin)
            begin("exchange");
        if (world_rank() == 0)
            MPI_Send(&data, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
        else
            MPI_Recv(&data, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (end)
            end("exchange");
    }
    finish();
    return 0;
}
