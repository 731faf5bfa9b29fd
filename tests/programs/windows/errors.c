/* Operations that fail have no events, nor have those on MPI_PROC_NULL. A call that fails because of one request may have
 * completed the others.
 *
 * ranks: 2
 * window events on rank 0:
 *   lock_acquired target=-1
 *   put_started target=1 address=w+8 size=8
 *   flush_started target=1
 *   put_complete target=1 address=w+8 size=8
 *   flush_complete target=1
 *   get_started target=1 address=w+16 size=8
 *   get_complete target=1 address=w+16 size=8
 *   get_started target=1 address=w+24 size=8
 *   get_complete target=1 address=w+24 size=8
 *   lock_released target=-1
 * window events on rank 1:
 */
#include "windows.h"

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int64_t memory[WORDS], value = 5, got = 3, long_one[2] = {0}, short_one = 0;
    fill(memory, WORDS);
    MPI_Win win;
    MPI_Win_create(memory, sizeof memory, sizeof memory[0], MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    tell_base("w", memory);
    if (world_rank() == 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, MPI_PROC_NULL, 0, win);
        MPI_Win_unlock(MPI_PROC_NULL, win);
        MPI_Win_lock_all(0, win);
        REQUIRE(MPI_Put(&value, 1, MPI_INT64_T, 9, 0, 1, MPI_INT64_T, win) != MPI_SUCCESS);
        REQUIRE(MPI_Get(&got, -1, MPI_INT64_T, 1, 0, 1, MPI_INT64_T, win) != MPI_SUCCESS);
        REQUIRE(MPI_Put(&value, 1, MPI_INT64_T, MPI_PROC_NULL, 0, 1, MPI_INT64_T, win) == MPI_SUCCESS);
        REQUIRE(MPI_Put(&value, 1, MPI_INT64_T, 1, 1, 1, MPI_INT64_T, win) == MPI_SUCCESS);
        REQUIRE(MPI_Win_flush(1, win) == MPI_SUCCESS);
        /* MPICH asks the handler of the world. */
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
        MPI_Request requests[2];
        MPI_Rget(&got, 1, MPI_INT64_T, 1, 2, 1, MPI_INT64_T, win, &requests[0]);
        MPI_Irecv(&short_one, 1, MPI_INT64_T, 0, 0, MPI_COMM_SELF, &requests[1]);
        MPI_Send(long_one, 2, MPI_INT64_T, 0, 0, MPI_COMM_SELF);
        /* The message is too long; Open MPI does not say so. */
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        REQUIRE(requests[0] == MPI_REQUEST_NULL && got == 1002);
        MPI_Rget(&got, 1, MPI_INT64_T, 1, 3, 1, MPI_INT64_T, win, &requests[0]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        REQUIRE(got == 1003);
        got = 3;
        MPI_Win_unlock_all(win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    REQUIRE(world_rank() == 0 || memory[1] == 5);
    REQUIRE(got == 3);
    MPI_Win_free(&win);
    return finish();
}
