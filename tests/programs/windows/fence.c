/* Fences complete the operations before them.
 *
 * ranks: 2
 * window events on rank 0:
 *   fence
 *   put_started target=1 address=w+16 size=24
 *   get_started target=1 address=w+64 size=8
 *   put_complete target=1 address=w+16 size=24
 *   get_complete target=1 address=w+64 size=8
 *   fence
 *   put_started target=0 address=w+0 size=4
 *   put_complete target=0 address=w+0 size=4
 *   fence
 * window events on rank 1:
 *   fence
 *   fence
 *   fence
 */
#include "windows.h"

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int64_t memory[WORDS], three[3] = {7, 8, 9}, got = -1;
    int one = 5;
    fill(memory, WORDS);
    MPI_Win win;
    MPI_Win_create(memory, sizeof memory, sizeof memory[0], MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    tell_base("w", memory);
    MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
    if (world_rank() == 0) {
        MPI_Put(three, 3, MPI_INT64_T, 1, 2, 3, MPI_INT64_T, win);
        MPI_Get(&got, 1, MPI_INT64_T, 1, 8, 1, MPI_INT64_T, win);
    }
    MPI_Win_fence(0, win);
    if (world_rank() == 0) {
        REQUIRE(got == 1008);
        MPI_Put(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
    } else {
        REQUIRE(memory[1] == 1001 && memory[2] == 7 && memory[4] == 9 && memory[5] == 1005);
    }
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    for (int i = 1; i < WORDS; ++i)
        mix((uint64_t)memory[i]);
    mix((uint64_t)got);
    MPI_Win_free(&win);
    return finish();
}
