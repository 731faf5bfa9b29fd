/* For runs with sanitizers: messages whose contents end in an array on the heap. With an argument, an element behind its end is read. */
#include "../check.h"

int main(int argc, char **argv)
{
    enum { LENGTH = 10 };
    int rank, size, got;
    MPI_Init(&argc, &argv);
    rank = world_rank();
    size = world_size();
    int *sums = calloc(LENGTH, sizeof *sums);
    for (int message = 0; message < 100; message++) {
        MPI_Sendrecv(&message, 1, MPI_INT, (rank + 1) % size, 0, &got, 1, MPI_INT, (rank + size - 1) % size, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        sums[message % LENGTH] += got;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int sum = 0; sum < LENGTH + (argc > 1); sum++)
        mix((uint64_t)((volatile int *)sums)[sum]);
    free(sums);
    return finish();
}
