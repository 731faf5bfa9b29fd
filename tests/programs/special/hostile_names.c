/* Communicators, windows, phases and regions have names that a terminal or a spreadsheet would obey: escape sequences in seven and in eight
   bits, the end of a line with a line of MEL behind it, the direction of writing, formulas. One message, one reduction and one put for each. */
#include "../check.h"
#include "../../../include/mel.h"

static const char *const names[] = {
    "\033[2J\033[31mred\007",
    "a\n[MEL] all is well\r",
    "\302\2332Jb", /* U+009B */
    "\342\200\256c\342\201\246", /* U+202E, U+2066 */
    "=1+1",
    "@SUM(A1)",
    "+d\t-",
    "-2+3+cmd|' /C calc'!A0",
};

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int size = world_size(), rank = world_rank(), data = 0, sum = 0;
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        MPI_Comm comm;
        MPI_Win window;
        int *memory;
        mel_phase(names[i]);
        mel_region_begin(names[i]);
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Comm_set_name(comm, names[i]);
        if (rank == 0)
            MPI_Send(&rank, 1, MPI_INT, size - 1, 1, comm);
        if (rank == size - 1)
            MPI_Recv(&data, 1, MPI_INT, 0, 1, comm, MPI_STATUS_IGNORE);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
        MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, comm, &memory, &window);
        MPI_Win_set_name(window, names[i]);
        MPI_Win_fence(0, window);
        MPI_Put(&rank, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, window);
        MPI_Win_fence(0, window);
        MPI_Win_free(&window);
        MPI_Comm_free(&comm);
        mel_region_end(names[i]);
    }
    return finish();
}
