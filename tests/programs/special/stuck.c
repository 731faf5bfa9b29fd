/* Hangs in one way, or, with "right" after it, does the same without the mistake and ends.
 *
 * stuck CASE [right]
 *   mismatch   rank 2 calls MPI_Bcast where the others call MPI_Allreduce
 *   left_out   rank 2 has left out a barrier, and is in MPI_Finalize
 *   loop       rank 2 never leaves a loop outside of MPI
 *   exits      rank 2 exits where the others go into MPI_Barrier
 *   orders     ranks 0 and 1 go into barriers of two communicators in opposite orders
 *   receive    rank 0 waits for a message that nobody sends, and all others are in MPI_Finalize
 *   polls      rank 2 tests again and again for a message that nobody sends
 *   thirds     of three ranks in turn one calls MPI_Barrier, one MPI_Allreduce, and one waits for a message that nobody sends
 *   late       rank 2 comes to a barrier some seconds late: it hangs in neither way
 */
#define _POSIX_C_SOURCE 200809L
#include "../check.h"
#include <time.h>

static volatile int never = 0;

__attribute__((noinline)) static void loop(void)
{
    while (!never)
        nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    REQUIRE(argc == 2 || argc == 3);
    int rank = world_rank(), right = argc == 3, value = rank, sum = 0;
    const char *kind = argv[1];
    MPI_Comm first, second;
    MPI_Comm_dup(MPI_COMM_WORLD, &first);
    MPI_Comm_dup(MPI_COMM_WORLD, &second);
    MPI_Comm_set_name(first, "first");
    MPI_Comm_set_name(second, "second");
    for (int step = 0; step < 50; step++)
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, first);
    int is_wrong = rank == 2 && !right;
    if (strcmp(kind, "mismatch") == 0) {
        if (is_wrong)
            MPI_Bcast(&value, 1, MPI_INT, 0, first); /* bcast */
        else
            MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, first); /* allreduce */
    } else if (strcmp(kind, "left_out") == 0) {
        if (is_wrong) {
            MPI_Finalize();
            return 0;
        }
        MPI_Barrier(first); /* barrier */
    } else if (strcmp(kind, "loop") == 0) {
        if (is_wrong)
            loop();
        MPI_Barrier(first); /* barrier */
    } else if (strcmp(kind, "exits") == 0) {
        if (is_wrong) {
            /* Launchers end the others at once: they shall be in the barrier then. */
            nanosleep(&(struct timespec){ .tv_sec = 1 }, NULL);
            exit(0);
        }
        MPI_Barrier(first); /* barrier */
    } else if (strcmp(kind, "orders") == 0) {
        int is_opposite = rank == 0 && !right;
        MPI_Barrier(is_opposite ? second : first); /* one */
        MPI_Barrier(is_opposite ? first : second); /* other */
    } else if (strcmp(kind, "polls") == 0) {
        for (int flag = !is_wrong; !flag && !never;) {
            MPI_Iprobe(1, 9, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE); /* poll */
            nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
        }
        MPI_Barrier(first); /* barrier */
    } else if (strcmp(kind, "thirds") == 0) {
        if (rank % 3 == 0 || right)
            MPI_Barrier(first); /* third_in_barrier */
        else if (rank % 3 == 1)
            MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, first); /* third_in_allreduce */
        else
            MPI_Recv(&value, 1, MPI_INT, 0, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* third_in_receive */
    } else if (strcmp(kind, "late") == 0) {
        if (rank == 2)
            nanosleep(&(struct timespec){ .tv_sec = 4 }, NULL);
        MPI_Barrier(first); /* barrier */
    } else if (strcmp(kind, "receive") == 0) {
        if (rank == 0)
            MPI_Recv(&value, 1, MPI_INT, 1, right ? 7 : 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* receive */
        else if (rank == 1)
            MPI_Send(&value, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
        if (!right) {
            MPI_Finalize();
            return 0;
        }
    } else {
        REQUIRE(!"a case");
    }
    return finish();
}
