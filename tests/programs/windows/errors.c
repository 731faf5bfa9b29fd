/* Operations that fail are not told, nor are those on MPI_PROC_NULL.
 *
 * ranks: 2
 * window events on rank 0:
 *   lock_acquired target=-1
 *   put_started target=1 address=w+8 size=8
 *   flush_started target=1
 *   put_complete target=1 address=w+8 size=8
 *   flush_complete target=1
 *   lock_released target=-1
 * window events on rank 1:
 */
#include "windows.h"

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int64_t memory[WORDS], value = 5, got = 3;
    fill(memory, WORDS);
    MPI_Win win;
    MPI_Win_create(memory, sizeof memory, sizeof memory[0], MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    tell_base("w", memory);
    if (world_rank() == 0) {
        MPI_Win_lock_all(0, win);
        REQUIRE(MPI_Put(&value, 1, MPI_INT64_T, 9, 0, 1, MPI_INT64_T, win) != MPI_SUCCESS);
        REQUIRE(MPI_Get(&got, -1, MPI_INT64_T, 1, 0, 1, MPI_INT64_T, win) != MPI_SUCCESS);
        REQUIRE(MPI_Put(&value, 1, MPI_INT64_T, MPI_PROC_NULL, 0, 1, MPI_INT64_T, win) == MPI_SUCCESS);
        REQUIRE(MPI_Put(&value, 1, MPI_INT64_T, 1, 1, 1, MPI_INT64_T, win) == MPI_SUCCESS);
        REQUIRE(MPI_Win_flush(1, win) == MPI_SUCCESS);
        MPI_Win_unlock_all(win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    REQUIRE(world_rank() == 0 || memory[1] == 5);
    REQUIRE(got == 3);
    MPI_Win_free(&win);
    return finish();
}
