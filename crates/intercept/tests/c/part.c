#include <mpi.h>
#include <stdio.h>

int run(void)
{
    int x = 5, y = 0;
    MPI_Init(NULL, NULL);
    MPI_Sendrecv(&x, 1, MPI_INT, 0, 0, &y, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    printf("%d\n", y);
    MPI_Finalize();
    return 0;
}
