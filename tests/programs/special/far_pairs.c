/* Each rank exchanges long messages with the next one, in pairs: 0 and 1, 2 and 3. Where a launcher spreads them over nodes in turns, all of it
 * goes between nodes. */
#include "../check.h"

enum { TIMES = 150, BYTES = 4 << 20 };

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    REQUIRE(world_size() % 2 == 0);
    int other = world_rank() ^ 1;
    char *out = calloc(BYTES, 1), *in = calloc(BYTES, 1);
    REQUIRE(out && in);
    for (int time = 0; time < TIMES; time++)
        MPI_Sendrecv(out, BYTES, MPI_BYTE, other, 1, in, BYTES, MPI_BYTE, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    free(out);
    free(in);
    return finish();
}
