/* Hangs in a call about a window or a file, or, with "right" after it, does the same without the mistake and ends.
 *
 * stuck_windows CASE [right]: ranks, kind, who waits, for whom, words of the sentence.
 *   fence_left_out 3 outside 0,1 2 rank 2 has not come to it
 *   free_left_out 3 outside 0,1 2 rank 2 has not called it more often
 *   lock_held 3 outside 1 2 rank 2 has locked it more often than unlocked
 *   post_left_out 3 outside 0 2 which needs MPI_Win_post in its group; rank 2, which alone can be in it, has called that less often
 *   complete_left_out 3 outside 2 0 which needs MPI_Win_complete in its group; rank 0, which alone can be in it, has called that less often
 *   size_left_out 3 outside 0,1 2 rank 2 has not come to it
 */
#define _POSIX_C_SOURCE 200809L
#include "../check.h"
#include <time.h>

static volatile int never = 0;

/* Never ends, outside of MPI. */
static void sleeps(void)
{
    while (!never)
        nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    REQUIRE(argc == 2 || argc == 3);
    int rank = world_rank(), right = argc == 3, value = rank, memory[4] = { 0 };
    int is_wrong = rank == 2 && !right;
    const char *kind = argv[1];
    MPI_Win window;
    MPI_Win_create(memory, sizeof memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    if (strcmp(kind, "fence_left_out") == 0) {
        for (int step = 0; step < 3; step++)
            MPI_Win_fence(0, window);
        if (is_wrong)
            sleeps();
        MPI_Win_fence(0, window); /* fence_left_out */
    } else if (strcmp(kind, "free_left_out") == 0) {
        if (is_wrong)
            sleeps();
        MPI_Win_free(&window); /* free_left_out */
        return finish();
    } else if (strcmp(kind, "lock_held") == 0) {
        if (rank == 2) {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
            MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
            MPI_Win_flush(0, window);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        if (is_wrong)
            sleeps();
        if (rank == 2)
            MPI_Win_unlock(0, window);
        if (rank == 1) {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window); /* lock_held */
            MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
            MPI_Win_unlock(0, window); /* lock_held */
        }
        MPI_Barrier(MPI_COMM_WORLD);
    } else if (strcmp(kind, "post_left_out") == 0 || strcmp(kind, "complete_left_out") == 0) {
        int is_post = strcmp(kind, "post_left_out") == 0, other = 2 - rank;
        MPI_Group world, group;
        MPI_Comm_group(MPI_COMM_WORLD, &world);
        MPI_Group_incl(world, 1, &other, &group);
        for (int step = 0; rank != 1 && step < 3; step++) {
            int is_last = step == 2 && !right;
            if (rank == 0) {
                MPI_Win_start(group, 0, window); /* post_left_out */
                MPI_Put(&value, 1, MPI_INT, 2, 0, 1, MPI_INT, window);
                if (is_last && !is_post)
                    sleeps();
                MPI_Win_complete(window); /* post_left_out */
            } else {
                if (is_last && is_post)
                    sleeps();
                MPI_Win_post(group, 0, window);
                MPI_Win_wait(window); /* complete_left_out */
            }
        }
        MPI_Group_free(&group);
        MPI_Group_free(&world);
    } else if (strcmp(kind, "size_left_out") == 0) {
        MPI_File file;
        MPI_File_open(MPI_COMM_WORLD, "stuck_windows.out", MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
        for (int step = 0; step < 2; step++)
            MPI_File_write_at_all(file, 4 * (3 * step + rank), &value, 1, MPI_INT, MPI_STATUS_IGNORE);
        if (is_wrong)
            sleeps();
        MPI_File_set_size(file, 100); /* size_left_out */
        MPI_File_close(&file);
    } else {
        REQUIRE(!"a case");
    }
    MPI_Win_free(&window);
    return finish();
}
