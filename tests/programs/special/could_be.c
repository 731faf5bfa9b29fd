/* Four ranks work for times that are given, in milliseconds by rank, in each of some steps, and depend on each other in one of these ways:
 *
 *   all     MPI_Allreduce after the work; the second half of the steps is the phase "3"
 *   halo    messages to and from both neighbours after the work
 *   chain   each rank works when it has got something of the one before; the first one waits for the last at the end of a step
 *   parts   as turns in the first half of the steps, the phase "3", the region "steps/in turn"; then all work as long: the third time, the
 *           phase "4", the region "steps/together"
 *   turns   MPI_Allreduce after the work; in each step another rank works for the first time, the others for the second
 *
 * could_be WAY STEPS MS MS MS MS
 */
#include "../../../include/mel.h"
#include "../planted/planted.h"

static double value = 1, sum;

static void all(void)
{
    MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void halo(void)
{
    static double out[2], in[2];
    MPI_Request requests[4];
    const int neighbours[2] = {rank > 0 ? rank - 1 : MPI_PROC_NULL, rank + 1 < size ? rank + 1 : MPI_PROC_NULL};
    for (int side = 0; side < 2; side++) {
        MPI_Irecv(&in[side], 1, MPI_DOUBLE, neighbours[side], 0, MPI_COMM_WORLD, &requests[side]);
        MPI_Isend(&out[side], 1, MPI_DOUBLE, neighbours[side], 0, MPI_COMM_WORLD, &requests[2 + side]);
    }
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

static void chain(double ms)
{
    const int before = (rank + size - 1) % size, after = (rank + 1) % size;
    if (rank > 0)
        MPI_Recv(&value, 1, MPI_DOUBLE, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    work(ms);
    MPI_Send(&value, 1, MPI_DOUBLE, after, 0, MPI_COMM_WORLD);
    if (rank == 0)
        MPI_Recv(&value, 1, MPI_DOUBLE, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    begin_together(&argc, &argv);
    if (argc != 7 || size != 4)
        MPI_Abort(MPI_COMM_WORLD, 1);
    const char *way = argv[1];
    const int steps = atoi(argv[2]);
    double ms[4];
    for (int of = 0; of < 4; of++)
        ms[of] = atof(argv[3 + of]);
    for (int step = 0; step < steps; step++) {
        if (strcmp(way, "parts") == 0) {
            const int first = step < steps / 2;
            if (step == 0 || step == steps / 2)
                MPI_Pcontrol(first ? 3 : 4);
            mel_region_begin("steps");
            mel_region_begin(first ? "in turn" : "together");
            work(!first ? ms[2] : step % size == rank ? ms[0] : ms[1]);
            all();
            mel_region_end(first ? "in turn" : "together");
            mel_region_end("steps");
        } else if (strcmp(way, "chain") == 0) {
            chain(ms[rank]);
        } else if (strcmp(way, "turns") == 0) {
            work(step % size == rank ? ms[0] : ms[1]);
            all();
        } else {
            if (step == steps / 2 && strcmp(way, "all") == 0)
                MPI_Pcontrol(3);
            work(ms[rank]);
            strcmp(way, "all") == 0 ? all() : halo();
        }
    }
    return end();
}
