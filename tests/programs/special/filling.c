/* Makes more communicators than the profile has numbers and rows for: COMMUNICATORS of them, one after the other, with two
 * collective operations on each. Argument: how many, if not COMMUNICATORS.
 * Prints how many MPI calls were made that are counted.
 */
#include "../check.h"

enum { COMMUNICATORS = 17000 };

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : COMMUNICATORS;
    MPI_Init(&argc, &argv);
    for (int i = 0; i < count; i++) {
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_SELF, &comm);
        MPI_Barrier(comm);
        MPI_Bcast(&i, 1, MPI_INT, 0, comm);
        MPI_Comm_free(&comm);
    }
    MPI_Finalize();
    printf("%d calls\n", 4 * count);
    return 0;
}
