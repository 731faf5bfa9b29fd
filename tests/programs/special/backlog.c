/* Rank 0 sends 3000 short messages while rank 1 sleeps, who then receives them one by one, in blocking calls: nothing else lets rank 1 make
 * progress before.
 */
#include <time.h>

#include "../check.h"

enum { MESSAGES = 3000, TAG = 3 };

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank = world_rank(), value;
    for (int i = 0; i < MESSAGES && rank == 0; i++)
        MPI_Send(&i, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD);
    if (rank == 1) {
        nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
        for (int i = 0; i < MESSAGES; i++) {
            MPI_Recv(&value, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            REQUIRE(value == i);
            mix((uint64_t)value);
        }
    }
    return finish();
}
