/* Calls a function that MPI libraries before MPI-4 do not have. */
#include <mpi.h>
#include <stdio.h>

extern int MPI_Isendrecv(const void *, int, MPI_Datatype, int, int, void *, int, MPI_Datatype, int, int,
                         MPI_Comm, MPI_Request *);

int run(void)
{
    int x = 1, y = 0;
    MPI_Request request;
    MPI_Init(NULL, NULL);
    puts("before");
    fflush(stdout);
    MPI_Isendrecv(&x, 1, MPI_INT, 0, 0, &y, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    printf("after %d\n", y);
    MPI_Finalize();
    return 0;
}
