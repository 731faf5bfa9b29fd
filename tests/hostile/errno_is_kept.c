/* The program looks at errno around MPI calls that change it not by themselves.
 *
 * ranks: 2
 */
#include "hostile.h"

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    communicate(20);
    for (int i = 0; i < 200; i++) {
        int size, rank;
        errno = 77;
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        (void)MPI_Wtime();
        REQUIRE(errno == 77);
    }
    communicate(20);
    return finish();
}
