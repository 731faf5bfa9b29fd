/* Two windows, on a communicator with a name and on all processes, with a put in each. */
#include "../check.h"

int main(int argc, char **argv)
{
    int memory[2][2] = {{0}}, values[2] = {5, 6};
    MPI_Comm halo;
    MPI_Win window[2];
    MPI_Init(&argc, &argv);
    int other = !world_rank();
    REQUIRE(world_size() == 2);
    MPI_Comm_dup(MPI_COMM_WORLD, &halo);
    MPI_Comm_set_name(halo, "the halo");
    for (int i = 0; i < 2; i++)
        MPI_Win_create(memory[i], sizeof memory[i], sizeof(int), MPI_INFO_NULL, i ? MPI_COMM_WORLD : halo, &window[i]);
    for (int i = 0; i < 2; i++) {
        MPI_Win_fence(0, window[i]);
        /* So that one knows which is which: one integer, and two. */
        MPI_Put(values, 1 + i, MPI_INT, other, 0, 1 + i, MPI_INT, window[i]);
        MPI_Win_fence(0, window[i]);
    }
    for (int i = 0; i < 2; i++)
        MPI_Win_free(&window[i]);
    MPI_Comm_free(&halo);
    return finish();
}
