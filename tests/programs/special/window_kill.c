/* Rank 1 puts ten times, completes eight of them, and is killed; the others wait for it in vain. */
#include "../check.h"

#include <signal.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int64_t *memory, value = 1;
    MPI_Win win;
    MPI_Win_allocate(16 * 8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_lock_all(0, win);
    if (world_rank() == 1) {
        for (int i = 0; i < 8; ++i)
            MPI_Put(&value, 1, MPI_INT64_T, 0, i, 1, MPI_INT64_T, win);
        MPI_Win_flush(0, win);
        for (int i = 0; i < 2; ++i)
            MPI_Put(&value, 1, MPI_INT64_T, 0, i, 1, MPI_INT64_T, win);
        raise(SIGKILL);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
