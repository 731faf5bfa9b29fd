/* What an MPI program costs by itself: time of MPI_Init and MPI_Finalize, and memory, with messages among neighbours.
 * Prints, on rank 0: ranks, seconds of MPI_Init, seconds of MPI_Finalize, the median over the ranks of the peak
 * resident and of the private memory in KiB before MPI_Finalize, and the peak of rank 0 after it. scripts/scaling runs it. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* The sum of the lines of a file in /proc that begin so. */
static long kib(const char *path, const char *name)
{
    char line[256];
    long sum = 0, value;
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, name, strlen(name)) == 0 && sscanf(strchr(line, ':') + 1, "%ld", &value) == 1)
            sum += value;
    if (file)
        fclose(file);
    return sum;
}

static int ascending(const void *a, const void *b)
{
    return *(const long *)a < *(const long *)b ? -1 : *(const long *)a > *(const long *)b;
}

static long median(long mine, int rank, int size)
{
    long *all = malloc(sizeof(long) * (size_t)size);
    MPI_Gather(&mine, 1, MPI_LONG, all, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    if (rank == 0)
        qsort(all, (size_t)size, sizeof(long), ascending);
    long result = rank == 0 ? all[size / 2] : 0;
    free(all);
    return result;
}

int main(int argc, char **argv)
{
    double before = now();
    MPI_Init(&argc, &argv);
    double init = now() - before;
    int rank, size, data = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int round = 0; round < 100; round++)
        MPI_Sendrecv_replace(&data, 1, MPI_INT, (rank + 1) % size, 0, (rank + size - 1) % size, 0, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE);
    long peak = median(kib("/proc/self/status", "VmHWM"), rank, size);
    long private = median(kib("/proc/self/smaps_rollup", "Private_"), rank, size);
    MPI_Barrier(MPI_COMM_WORLD);
    before = now();
    MPI_Finalize();
    double finalize = now() - before;
    if (rank == 0)
        printf("%d %.6f %.6f %ld %ld %ld\n", size, init, finalize, peak, private, kib("/proc/self/status", "VmHWM"));
    return 0;
}
