/* Calls whose lines are known: a rank prints each function that it calls and the line, in order. */
#include "../check.h"

#define REPORT(function, line) printf("%d %s call_sites.c:%d\n", rank, function, line)

static int rank;

/* As a function of a program's own that is inlined, and as one that is not. */
static inline __attribute__((always_inline)) void swap(int *data)
{
    REPORT("MPI_Sendrecv_replace", __LINE__ + 1);
    MPI_Sendrecv_replace(data, 1, MPI_INT, !rank, 0, !rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static __attribute__((noinline)) void meet(void)
{
    REPORT("MPI_Barrier", __LINE__ + 1);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int data = 1, sum, init = __LINE__ + 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank); REPORT("MPI_Init", init); REPORT("MPI_Comm_rank", __LINE__);
    swap(&data);
    for (int i = 0; i < 2; i++) {
        meet();
        /* A call of several lines is where its compiler says: GCC gives the first. */
        REPORT("MPI_Allreduce", __LINE__ + 1);
        MPI_Allreduce(&data, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    REPORT("MPI_Finalize", __LINE__ + 1);
    MPI_Finalize();
    return 0;
}
