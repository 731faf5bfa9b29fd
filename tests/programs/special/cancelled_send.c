/* Sends that are cancelled, by an MPI that does so: one whose status the program reads, and one whose status it ignores. */
#include "../check.h"

int main(int argc, char **argv)
{
    int data = 1, cancelled = 0;
    MPI_Request request;
    MPI_Status status;
    MPI_Init(&argc, &argv);
    if (world_rank() == 0) {
        for (int i = 0; i < 2; i++) {
            MPI_Issend(&data, 1, MPI_INT, 1, 5 + i, MPI_COMM_WORLD, &request);
            MPI_Cancel(&request);
            MPI_Wait(&request, i ? MPI_STATUS_IGNORE : &status);
        }
        MPI_Test_cancelled(&status, &cancelled);
        REQUIRE(cancelled);
    }
    return finish();
}
