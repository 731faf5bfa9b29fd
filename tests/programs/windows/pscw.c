/* Post, start, complete and wait or test: the origin's operations are complete with its epoch.
 *
 * ranks: 3
 * window events on rank 0:
 *   pscw_access_start target=1
 *   pscw_access_start target=2
 *   put_started target=2 address=w+8 size=8
 *   put_started target=1 address=w+0 size=16
 *   put_complete target=2 address=w+8 size=8
 *   put_complete target=1 address=w+0 size=16
 *   pscw_access_complete target=1
 *   pscw_access_complete target=2
 *   pscw_access_start target=2
 *   get_started target=2 address=w+8 size=8
 *   get_complete target=2 address=w+8 size=8
 *   pscw_access_complete target=2
 * window events on rank 1:
 *   pscw_expose_start
 *   pscw_expose_complete
 * window events on rank 2:
 *   pscw_expose_start
 *   pscw_expose_complete
 *   pscw_expose_start
 *   pscw_expose_complete
 */
#include "windows.h"

static MPI_Group some_of(MPI_Win win, int count, const int *ranks)
{
    MPI_Group all, some;
    MPI_Win_get_group(win, &all);
    MPI_Group_incl(all, count, ranks, &some);
    MPI_Group_free(&all);
    return some;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int64_t memory[WORDS], two[2] = {3, 4}, got = 0;
    const int origin = 0, targets[2] = {1, 2};
    fill(memory, WORDS);
    MPI_Win win;
    MPI_Win_create(memory, sizeof memory, sizeof memory[0], MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    tell_base("w", memory);
    MPI_Group from = some_of(win, 1, &origin), to = some_of(win, 2, targets), last = some_of(win, 1, targets + 1);
    if (world_rank() == 0) {
        MPI_Win_start(to, 0, win);
        MPI_Put(two, 1, MPI_INT64_T, 2, 1, 1, MPI_INT64_T, win);
        MPI_Put(two, 2, MPI_INT64_T, 1, 0, 2, MPI_INT64_T, win);
        MPI_Win_complete(win);
        MPI_Win_start(last, 0, win);
        MPI_Get(&got, 1, MPI_INT64_T, 2, 1, 1, MPI_INT64_T, win);
        MPI_Win_complete(win);
        REQUIRE(got == 3);
    } else {
        MPI_Win_post(from, 0, win);
        if (world_rank() == 1) {
            MPI_Win_wait(win);
            REQUIRE(memory[0] == 3 && memory[1] == 4);
        } else {
            int done = 0;
            while (!done)
                MPI_Win_test(win, &done);
            REQUIRE(memory[0] == 2000 && memory[1] == 3);
            MPI_Win_post(from, 0, win);
            MPI_Win_wait(win);
        }
    }
    for (int i = 0; i < WORDS; ++i)
        mix((uint64_t)memory[i]);
    MPI_Group_free(&from);
    MPI_Group_free(&to);
    MPI_Group_free(&last);
    MPI_Win_free(&win);
    return finish();
}
