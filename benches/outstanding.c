/* Memory of outstanding receives: posts as many as its argument says on MPI_COMM_SELF, and prints what the process has written more for them.
 *
 *     mpicc -O2 -o outstanding benches/outstanding.c
 *     mpirun -n 1 ./outstanding 250000
 *     mpirun -n 1 mel run ./outstanding 250000
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long written_kib(void)
{
    char line[256];
    long found = 0;
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "Private_Dirty: %ld", &found) == 1)
            break;
    if (file)
        fclose(file);
    return found;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int count = argc > 1 ? atoi(argv[1]) : 250000, data;
    MPI_Request *requests = calloc(count, sizeof *requests);
    /* Its pages are there before. */
    memset(requests, 1, count * sizeof *requests);
    long before = written_kib();
    for (int i = 0; i < count; i++)
        MPI_Irecv(&data, 1, MPI_INT, 0, i % 30000, MPI_COMM_SELF, &requests[i]);
    printf("%d receives, %.0f bytes each\n", count, (written_kib() - before) * 1024.0 / count);
    for (int i = 0; i < count; i++) {
        MPI_Cancel(&requests[i]);
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
