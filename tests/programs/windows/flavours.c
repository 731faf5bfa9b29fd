/* Windows of every flavour, and of different displacement units in their processes. Addresses are the target's.
 *
 * ranks: 2
 * window events on rank 0:
 *   fence
 *   put_started target=1 address=create+12 size=4
 *   put_complete target=1 address=create+12 size=4
 *   fence
 *   fence
 *   put_started target=1 address=allocate+24 size=8
 *   put_complete target=1 address=allocate+24 size=8
 *   fence
 *   fence
 *   put_started target=1 address=shared+8 size=8
 *   put_complete target=1 address=shared+8 size=8
 *   fence
 *   fence
 *   put_started target=1 address=dynamic+40 size=8
 *   put_complete target=1 address=dynamic+40 size=8
 *   fence
 * window events on rank 1:
 *   fence
 *   fence
 *   fence
 *   fence
 *   fence
 *   fence
 *   fence
 *   fence
 */
#include "windows.h"

static void put(MPI_Win win, MPI_Aint displacement, MPI_Datatype type)
{
    int64_t value = 9;
    MPI_Win_fence(0, win);
    if (world_rank() == 0)
        MPI_Put(&value, 1, type, 1, displacement, 1, type, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int64_t memory[WORDS], *given;
    MPI_Win win;
    fill(memory, WORDS);

    MPI_Win_create(memory, sizeof memory, world_rank() == 1 ? 4 : 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    tell_base("create", memory);
    put(win, 3, MPI_INT);
    MPI_Win_free(&win);

    MPI_Win_allocate(WORDS * 8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &given, &win);
    tell_base("allocate", given);
    put(win, 3, MPI_INT64_T);
    REQUIRE(world_rank() == 0 || given[3] == 9);
    MPI_Win_free(&win);

    MPI_Win_allocate_shared(WORDS * 8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &given, &win);
    tell_base("shared", given);
    put(win, 1, MPI_INT64_T);
    REQUIRE(world_rank() == 0 || given[1] == 9);
    MPI_Win_free(&win);

    MPI_Aint address = 0;
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_attach(win, memory, sizeof memory);
    MPI_Get_address(memory + 5, &address);
    MPI_Bcast(&address, 1, MPI_AINT, 1, MPI_COMM_WORLD);
    tell_base("dynamic", memory);
    put(win, address, MPI_INT64_T);
    REQUIRE(world_rank() == 0 || memory[5] == 9);
    MPI_Win_detach(win, memory);
    MPI_Win_free(&win);

    for (int i = 0; i < WORDS; ++i)
        mix((uint64_t)memory[i]);
    return finish();
}
