/* Phases that the program names, each with known numbers of messages from rank 0 to rank 1. `phases`: 3 before any phase; 15 in "first",
   which comes twice, and a receive there whose message comes in "second"; 20 and that one in "second"; 7 while counting is stopped; 1 in
   no phase again. `reset`: 4 and 6, then all is set to zero, then 2 in "after". `levels`: 2 at level 3, 4 at level 4. `none`: 5. */
#include "../check.h"
#include "../../../include/mel.h"

static void exchange(int messages)
{
    int data = 0;
    for (int i = 0; i < messages; i++) {
        if (world_rank() == 0)
            MPI_Send(&i, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
        if (world_rank() == 1) {
            MPI_Recv(&data, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            REQUIRE(data == i);
            mix(data);
        }
    }
}

/* No message is under way while the phase changes: it belongs to the phase in which it comes. */
static void change(const char *name)
{
    MPI_Barrier(MPI_COMM_WORLD);
    mel_phase(name);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int data = 0;
    MPI_Request early = MPI_REQUEST_NULL;
    const char *mode = argc > 1 ? argv[1] : "phases";
    mel_phase("before MPI");
    mel_phase("");
    MPI_Init(&argc, &argv);
    REQUIRE(world_size() == 2);
    if (!strcmp(mode, "phases")) {
        exchange(3);
        /* The ranks name the phases in another order. */
        if (world_rank() == 1)
            mel_phase("second");
        change("first");
        exchange(10);
        if (world_rank() == 1)
            MPI_Irecv(&data, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, &early);
        change("second");
        if (world_rank() == 0)
            MPI_Ssend(&data, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
        MPI_Wait(&early, MPI_STATUS_IGNORE);
        exchange(20);
        change("first  ");
        exchange(5);
        MPI_Barrier(MPI_COMM_WORLD);
        mel_stop();
        MPI_Barrier(MPI_COMM_WORLD);
        exchange(7);
        MPI_Barrier(MPI_COMM_WORLD);
        mel_start();
        change(NULL);
        exchange(1);
    } else if (!strcmp(mode, "reset")) {
        exchange(4);
        change("after");
        exchange(6);
        MPI_Barrier(MPI_COMM_WORLD);
        mel_reset();
        MPI_Barrier(MPI_COMM_WORLD);
        exchange(2);
    } else if (!strcmp(mode, "levels")) {
        MPI_Pcontrol(3);
        exchange(2);
        MPI_Pcontrol(1);
        MPI_Pcontrol(2);
        MPI_Pcontrol(4, "a name that nobody reads");
        exchange(4);
    } else {
        exchange(5);
    }
    finish();
    return 0;
}
