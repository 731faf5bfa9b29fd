/* The accumulate family: what brings data has the events of a get, all else those of a put.
 *
 * ranks: 2
 * window events on rank 0:
 *   lock_acquired target=1
 *   put_started target=1 address=w+0 size=16
 *   get_started target=1 address=w+16 size=24
 *   get_started target=1 address=w+40 size=8
 *   get_started target=1 address=w+48 size=8
 *   put_complete target=1 address=w+0 size=16
 *   get_complete target=1 address=w+16 size=24
 *   get_complete target=1 address=w+40 size=8
 *   get_complete target=1 address=w+48 size=8
 *   lock_released target=1
 * window events on rank 1:
 */
#include "windows.h"

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int64_t memory[WORDS], ones[3] = {1, 1, 1}, got[3] = {0}, fetched = 0, compare = 1006, swapped = 0;
    fill(memory, WORDS);
    MPI_Win win;
    MPI_Win_create(memory, sizeof memory, sizeof memory[0], MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    tell_base("w", memory);
    if (world_rank() == 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
        MPI_Accumulate(ones, 2, MPI_INT64_T, 1, 0, 2, MPI_INT64_T, MPI_SUM, win);
        MPI_Get_accumulate(ones, 3, MPI_INT64_T, got, 3, MPI_INT64_T, 1, 2, 3, MPI_INT64_T, MPI_SUM, win);
        MPI_Fetch_and_op(ones, &fetched, MPI_INT64_T, 1, 5, MPI_SUM, win);
        MPI_Compare_and_swap(ones, &compare, &swapped, MPI_INT64_T, 1, 6, win);
        MPI_Win_unlock(1, win);
        REQUIRE(got[0] == 1002 && got[2] == 1004 && fetched == 1005 && swapped == 1006);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank() == 1)
        REQUIRE(memory[1] == 1002 && memory[3] == 1004 && memory[5] == 1006 && memory[6] == 1);
    MPI_Win_free(&win);
    return finish();
}
