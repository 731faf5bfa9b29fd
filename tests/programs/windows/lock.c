/* Locks and flushes: an unlock or a flush completes what is under way on its target, a local flush only what
 * brings data.
 *
 * ranks: 3
 * window events on rank 0:
 *   lock_acquired target=0
 *   lock_released target=0
 *   lock_acquired target=1
 *   put_started target=1 address=w+0 size=8
 *   put_complete target=1 address=w+0 size=8
 *   lock_released target=1
 *   lock_acquired target=-1
 *   put_started target=1 address=w+8 size=8
 *   put_started target=2 address=w+16 size=8
 *   get_started target=2 address=w+24 size=8
 *   flush_started target=2
 *   put_complete target=2 address=w+16 size=8
 *   get_complete target=2 address=w+24 size=8
 *   flush_complete target=2
 *   get_started target=1 address=w+8 size=8
 *   put_started target=1 address=w+32 size=8
 *   flush_started target=1
 *   get_complete target=1 address=w+8 size=8
 *   flush_complete target=1
 *   get_started target=2 address=w+0 size=8
 *   flush_started target=-1
 *   get_complete target=2 address=w+0 size=8
 *   flush_complete target=-1
 *   flush_started target=-1
 *   put_complete target=1 address=w+8 size=8
 *   put_complete target=1 address=w+32 size=8
 *   flush_complete target=-1
 *   put_started target=2 address=w+40 size=8
 *   put_complete target=2 address=w+40 size=8
 *   lock_released target=-1
 *   lock_acquired target=0
 *   lock_released target=0
 * window events on rank 1:
 *   lock_acquired target=1
 *   lock_released target=1
 *   lock_acquired target=0
 *   get_started target=0 address=w+0 size=8
 *   get_complete target=0 address=w+0 size=8
 *   lock_released target=0
 *   lock_acquired target=1
 *   lock_released target=1
 * window events on rank 2:
 *   lock_acquired target=2
 *   lock_released target=2
 *   lock_acquired target=2
 *   lock_released target=2
 */
#include "windows.h"

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int64_t *memory, value = 77, got = 0, again = 0, last = 0;
    MPI_Win win;
    MPI_Win_allocate(WORDS * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    tell_base("w", memory);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, world_rank(), 0, win);
    fill(memory, WORDS);
    MPI_Win_unlock(world_rank(), win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank() == 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
        MPI_Put(&value, 1, MPI_INT64_T, 1, 0, 1, MPI_INT64_T, win);
        MPI_Win_unlock(1, win);

        MPI_Win_lock_all(0, win);
        MPI_Put(&value, 1, MPI_INT64_T, 1, 1, 1, MPI_INT64_T, win);
        MPI_Put(&value, 1, MPI_INT64_T, 2, 2, 1, MPI_INT64_T, win);
        MPI_Get(&got, 1, MPI_INT64_T, 2, 3, 1, MPI_INT64_T, win);
        MPI_Win_flush(2, win);
        REQUIRE(got == 2003);
        MPI_Get(&again, 1, MPI_INT64_T, 1, 1, 1, MPI_INT64_T, win);
        MPI_Put(&value, 1, MPI_INT64_T, 1, 4, 1, MPI_INT64_T, win);
        MPI_Win_flush_local(1, win);
        MPI_Get(&last, 1, MPI_INT64_T, 2, 0, 1, MPI_INT64_T, win);
        MPI_Win_flush_local_all(win);
        MPI_Win_flush_all(win);
        REQUIRE(again == 77 && last == 2000);
        MPI_Put(&value, 1, MPI_INT64_T, 2, 5, 1, MPI_INT64_T, win);
        MPI_Win_unlock_all(win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank() == 1) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        MPI_Get(&got, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, win);
        MPI_Win_unlock(0, win);
        REQUIRE(got == 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, world_rank(), 0, win);
    for (int i = 0; i < WORDS; ++i)
        mix((uint64_t)memory[i]);
    MPI_Win_unlock(world_rank(), win);
    MPI_Win_free(&win);
    return finish();
}
