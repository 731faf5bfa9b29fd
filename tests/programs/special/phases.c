/* Three phases, of which the second is not recorded: messages on two communicators, a receive that is tested in vain, and
   receives that are posted in one phase and complete in another. Of four messages with one tag, each longer than the one
   before, the second is sent before the gap and received in it, and the third sent in it and received after it. */
#include "../check.h"

enum { GO = 900, CROSSING = 400 };

int main(int argc, char **argv)
{
    int data[8] = {0}, rank, flag;
    MPI_Comm halo;
    MPI_Request early = MPI_REQUEST_NULL, late = MPI_REQUEST_NULL, polled;
    MPI_Init(&argc, &argv);
    rank = world_rank();
    REQUIRE(world_size() == 2);
    MPI_Comm_dup(MPI_COMM_WORLD, &halo);
    MPI_Comm_set_name(halo, "the halo");
    if (rank == 1)
        MPI_Irecv(&data[0], 1, MPI_INT, 0, 200, MPI_COMM_WORLD, &early);
    for (int phase = 0; phase < 3; phase++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (phase == 1)
            MPI_Pcontrol(0);
        if (phase == 2)
            MPI_Pcontrol(1, "and more");
        MPI_Pcontrol(2);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            MPI_Send(data, 1, MPI_INT, 1, 10 * phase, MPI_COMM_WORLD);
            MPI_Send(data, 1, MPI_INT, 1, 10 * phase + 1, halo);
            MPI_Recv(data, 0, MPI_INT, 1, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(data, 1, MPI_INT, 1, 100 + phase, MPI_COMM_WORLD);
            if (phase == 0)
                MPI_Send(data, 1, MPI_INT, 1, CROSSING, MPI_COMM_WORLD);
            MPI_Send(data, 2 + phase, MPI_INT, 1, CROSSING, MPI_COMM_WORLD);
        } else {
            MPI_Recv(&data[1], 1, MPI_INT, 0, 10 * phase, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Recv(&data[2], 1, MPI_INT, 0, 10 * phase + 1, halo, MPI_STATUS_IGNORE);
            MPI_Irecv(&data[3], 1, MPI_INT, 0, 100 + phase, MPI_COMM_WORLD, &polled);
            /* The other one sends it only after this. */
            MPI_Test(&polled, &flag, MPI_STATUS_IGNORE);
            REQUIRE(!flag);
            MPI_Send(data, 0, MPI_INT, 0, GO, MPI_COMM_WORLD);
            MPI_Wait(&polled, MPI_STATUS_IGNORE);
            if (phase == 2)
                MPI_Recv(data, 3, MPI_INT, 0, CROSSING, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Recv(data, phase == 2 ? 4 : phase + 1, MPI_INT, 0, CROSSING, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        if (phase == 1 && rank == 1)
            MPI_Irecv(&data[4], 1, MPI_INT, 0, 300, MPI_COMM_WORLD, &late);
    }
    if (rank == 0) {
        MPI_Send(data, 1, MPI_INT, 1, 200, MPI_COMM_WORLD);
        MPI_Send(data, 1, MPI_INT, 1, 300, MPI_COMM_WORLD);
    }
    MPI_Wait(&early, MPI_STATUS_IGNORE);
    MPI_Wait(&late, MPI_STATUS_IGNORE);
    MPI_Comm_free(&halo);
    return finish();
}
