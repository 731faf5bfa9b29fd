/* A grid of two rows whose ends meet: each rank exchanges much with the one in the other row, and less with its two neighbours.
 *
 * halo_on_tree [STEPS [ACROSS [ALONG]]]: so many steps, bytes to the other row, bytes to each neighbour.
 *
 * Rank 0 prints a line `exchanged in SECONDS s`, of the exchange alone. */
#include "../check.h"

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank = world_rank(), size = world_size(), columns = size / 2;
    int steps = argc > 1 ? atoi(argv[1]) : 16;
    int across = argc > 2 ? atoi(argv[2]) : 512 << 10, along = argc > 3 ? atoi(argv[3]) : 64 << 10;
    REQUIRE(size % 2 == 0 && size >= 6 && across >= along && along > 0);
    int row = rank / columns, column = rank % columns;
    int other = (1 - row) * columns + column;
    int right = row * columns + (column + 1) % columns, left = row * columns + (column + columns - 1) % columns;
    const int partners[3] = {other, left, right}, bytes[3] = {across, along, along};
    unsigned char *out = malloc(across), *in[3];
    REQUIRE(out != NULL);
    memset(out, rank, across);
    for (int i = 0; i < 3; i++)
        REQUIRE((in[i] = malloc(bytes[i])) != NULL);

    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    for (int step = 0; step < steps; step++) {
        MPI_Request requests[6];
        for (int i = 0; i < 3; i++)
            MPI_Irecv(in[i], bytes[i], MPI_BYTE, partners[i], i == 0 ? 0 : 3 - i, MPI_COMM_WORLD, &requests[i]);
        for (int i = 0; i < 3; i++)
            MPI_Isend(out, bytes[i], MPI_BYTE, partners[i], i, MPI_COMM_WORLD, &requests[3 + i]);
        MPI_Waitall(6, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < 3; i++)
            REQUIRE(in[i][0] == (unsigned char)partners[i] && in[i][bytes[i] - 1] == (unsigned char)partners[i]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("exchanged in %.3f s\n", MPI_Wtime() - begin);
    for (int i = 0; i < 3; i++)
        free(in[i]);
    free(out);
    return finish();
}
