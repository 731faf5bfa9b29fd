/* The root comes 20 ms late to a gather of messages that need its answer: the others wait for it, but for those whose data another one takes
 * on its way.
 *
 * ranks: 4
 * default: rule=late_member cause=0 site=GATHER cause_site=GATHER lost=any place=any
 */
#include "planted.h"

int main(int argc, char **argv)
{
    begin_together(&argc, &argv);
    char *all = calloc((size_t)size, LARGE), *own = calloc(1, LARGE);
    for (int step = 0; step < 10; step++) {
        if (rank == 0)
            work(20);
        MPI_Gather(own, LARGE, MPI_CHAR, all, LARGE, MPI_CHAR, 0, MPI_COMM_WORLD); /* line GATHER */
        MPI_Barrier(MPI_COMM_WORLD);
    }
    free(own);
    free(all);
    return end();
}
