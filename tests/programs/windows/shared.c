/* In memory that is shared, an MPI may have one request for all operations: each wait completes one of them.
 *
 * ranks: 2
 * window events on rank 0:
 *   lock_acquired target=-1
 *   get_started target=1 address=w+0 size=8
 *   get_started target=1 address=w+8 size=8
 *   get_started target=1 address=w+16 size=8
 *   get_complete target=1 address=w+0 size=8
 *   get_complete target=1 address=w+8 size=8
 *   get_complete target=1 address=w+16 size=8
 *   flush_started target=-1
 *   flush_complete target=-1
 *   lock_released target=-1
 * window events on rank 1:
 */
#include "windows.h"

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int64_t *memory, got[3] = {0};
    MPI_Win win;
    MPI_Win_allocate_shared(WORDS * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    fill(memory, WORDS);
    tell_base("w", memory);
    if (world_rank() == 0) {
        MPI_Request requests[3];
        MPI_Win_lock_all(0, win);
        for (int i = 0; i < 3; ++i)
            MPI_Rget(&got[i], 1, MPI_INT64_T, 1, i, 1, MPI_INT64_T, win, &requests[i]);
        MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
        REQUIRE(got[0] == 1000 && got[1] == 1001 && got[2] == 1002);
        MPI_Win_flush_all(win);
        MPI_Win_unlock_all(win);
    }
    MPI_Win_free(&win);
    return finish();
}
