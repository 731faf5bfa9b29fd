/* An operation that brings data is complete with its request; a put is not: its request gives back its buffer.
 *
 * ranks: 2
 * window events on rank 0:
 *   lock_acquired target=-1
 *   put_started target=1 address=w+0 size=8
 *   get_started target=1 address=w+8 size=8
 *   get_complete target=1 address=w+8 size=8
 *   get_started target=1 address=w+16 size=8
 *   get_started target=1 address=w+24 size=16
 *   get_complete target=1 address=w+16 size=8
 *   get_complete target=1 address=w+24 size=16
 *   get_started target=1 address=w+40 size=8
 *   get_complete target=1 address=w+40 size=8
 *   get_started target=1 address=w+48 size=8
 *   put_started target=1 address=w+56 size=8
 *   flush_started target=1
 *   put_complete target=1 address=w+0 size=8
 *   get_complete target=1 address=w+48 size=8
 *   put_complete target=1 address=w+56 size=8
 *   flush_complete target=1
 *   get_started target=1 address=w+64 size=8
 *   get_complete target=1 address=w+64 size=8
 *   get_started target=1 address=w+72 size=8
 *   get_complete target=1 address=w+72 size=8
 *   lock_released target=-1
 * window events on rank 1:
 */
#include "windows.h"

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int64_t memory[WORDS], value = 5, got[4] = {0};
    fill(memory, WORDS);
    MPI_Win win;
    MPI_Win_create(memory, sizeof memory, sizeof memory[0], MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    tell_base("w", memory);
    if (world_rank() == 0) {
        MPI_Request request, two[2];
        int done = 0, index = -1, count = 0, indices[2];
        MPI_Win_lock_all(0, win);
        MPI_Rput(&value, 1, MPI_INT64_T, 1, 0, 1, MPI_INT64_T, win, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Rget(got, 1, MPI_INT64_T, 1, 1, 1, MPI_INT64_T, win, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        REQUIRE(got[0] == 1001);
        MPI_Rget(got, 1, MPI_INT64_T, 1, 2, 1, MPI_INT64_T, win, &two[0]);
        MPI_Rget(got + 1, 2, MPI_INT64_T, 1, 3, 2, MPI_INT64_T, win, &two[1]);
        MPI_Waitall(2, two, MPI_STATUSES_IGNORE);
        REQUIRE(got[0] == 1002 && got[2] == 1004);
        MPI_Rget(got, 1, MPI_INT64_T, 1, 5, 1, MPI_INT64_T, win, &request);
        while (!done)
            MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        /* Complete with the window, not with the requests, of which one is given up. */
        MPI_Rget(got, 1, MPI_INT64_T, 1, 6, 1, MPI_INT64_T, win, &two[0]);
        MPI_Raccumulate(&value, 1, MPI_INT64_T, 1, 7, 1, MPI_INT64_T, MPI_SUM, win, &two[1]);
        MPI_Win_flush(1, win);
        MPI_Waitall(2, two, MPI_STATUSES_IGNORE);
        two[1] = MPI_REQUEST_NULL;
        MPI_Rget_accumulate(&value, 1, MPI_INT64_T, got, 1, MPI_INT64_T, 1, 8, 1, MPI_INT64_T, MPI_SUM, win, &two[0]);
        MPI_Waitany(2, two, &index, MPI_STATUS_IGNORE);
        REQUIRE(index == 0 && got[0] == 1008);
        MPI_Rget(got, 1, MPI_INT64_T, 1, 9, 1, MPI_INT64_T, win, &two[1]);
        MPI_Waitsome(2, two, &count, indices, MPI_STATUSES_IGNORE);
        REQUIRE(count == 1 && indices[0] == 1 && got[0] == 1009);
        MPI_Win_unlock_all(win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank() == 1)
        REQUIRE(memory[0] == 5 && memory[7] == 1012 && memory[8] == 1013);
    MPI_Win_free(&win);
    return finish();
}
