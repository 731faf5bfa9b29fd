/* Messages of a type with gaps, which the library packs when it sends.
 *
 * Rank 0 sends 10 messages of 100 ints, of which each third place of an array counts, to rank 1. No collective operation. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    static int data[300];
    int rank, wrong = 0;
    MPI_Datatype every_third;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Type_vector(100, 1, 3, MPI_INT, &every_third);
    MPI_Type_commit(&every_third);
    for (int n = 0; n < 10; n++) {
        if (rank == 0) {
            for (int i = 0; i < 300; i++) {
                data[i] = n + i;
            }
            MPI_Send(data, 1, every_third, 1, 0, MPI_COMM_WORLD);
        } else if (rank == 1) {
            MPI_Recv(data, 100, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            for (int i = 0; i < 100; i++) {
                wrong += data[i] != n + 3 * i;
            }
        }
    }
    MPI_Type_free(&every_third);
    if (rank == 1) {
        printf("wrong: %d\n", wrong);
    }
    MPI_Finalize();
    return wrong != 0;
}
