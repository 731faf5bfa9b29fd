/* Prints what memory each rank holds at the end of its work: `rank R pss P dirty D`, in KiB, from /proc/self/smaps_rollup.
 *
 * pss    memory in use; what n processes share counts as one n-th for each
 * dirty  memory that the processes have written, private or shared; what is shared counts in full for each
 *
 * The work: in each of ROUNDS rounds every rank exchanges BURST messages with every other rank, some of them posted first and
 * some unexpected, so that the queues and all ways between the ranks have been used.
 */
#include "../check.h"

enum { ROUNDS = 200, BURST = 20, MAX_RANKS = 16 };

static void burst(int rank, int size, int round, int late)
{
    static MPI_Request requests[2 * MAX_RANKS * BURST];
    static int sent[BURST], received[MAX_RANKS * BURST];
    int count = 0;
    for (int half = 0; half < 2; half++) {
        for (int peer = 0; peer < size; peer++) {
            for (int i = 0; i < BURST && peer != rank; i++) {
                sent[i] = round;
                if (half == late)
                    MPI_Irecv(&received[peer * BURST + i], 1, MPI_INT, peer, i, MPI_COMM_WORLD, &requests[count++]);
                else
                    MPI_Isend(&sent[i], 1, MPI_INT, peer, i, MPI_COMM_WORLD, &requests[count++]);
            }
        }
        if (half == 0)
            MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank = world_rank(), size = world_size();
    REQUIRE(size <= MAX_RANKS);
    for (int round = 0; round < ROUNDS; round++)
        burst(rank, size, round, round % 2);

    MPI_Barrier(MPI_COMM_WORLD);
    long pss = 0, dirty = 0, value;
    char line[256];
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    REQUIRE(file != NULL);
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "Pss: %ld", &value) == 1)
            pss = value;
        else if (sscanf(line, "Private_Dirty: %ld", &value) == 1 || sscanf(line, "Shared_Dirty: %ld", &value) == 1)
            dirty += value;
    }
    fclose(file);
    printf("rank %d pss %ld dirty %ld\n", rank, pss, dirty);
    fflush(stdout);
    /* Nobody ends, and so gives up its part of what is shared, before all have measured. */
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
