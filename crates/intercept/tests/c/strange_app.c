#include <stdio.h>

int MPI_Init(int *, char ***), MPI_Finalize(void), MPI_Comm_rank(long, int *);

int main(int argc, char **argv)
{
    int rank = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(77, &rank);
    printf("rank %d\n", rank);
    return MPI_Finalize();
}
