/* As many calls as the argument says, which take no time and do nothing. */
#include <stdlib.h>

#include <mpi.h>

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    for (long call = atol(argv[1]); call > 0; call--)
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return MPI_Finalize();
}
