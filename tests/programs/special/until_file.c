/* Steps of a ring, until a file is there, or DIR is not. The last rank computes longest, so that the others wait for it. Each rank leaves its process
 * id in DIR/pid-RANK.
 *
 * until_file DIR FILE
 */
#define _POSIX_C_SOURCE 200809L
#include "../check.h"
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    REQUIRE(argc == 3);
    int rank = world_rank(), size = world_size();
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    char path[4096], whole[4096];
    snprintf(path, sizeof path, "%s/pid-%d.part", argv[1], rank);
    snprintf(whole, sizeof whole, "%s/pid-%d", argv[1], rank);
    FILE *file = fopen(path, "w");
    REQUIRE(file != NULL && fprintf(file, "%d\n", (int)getpid()) > 0 && fclose(file) == 0 && rename(path, whole) == 0);
    for (int step = 0, ends = 0; !ends; step++) {
        int sent = step * size + rank, got = -1;
        MPI_Request request;
        MPI_Irecv(&got, 1, MPI_INT, before, 1, MPI_COMM_WORLD, &request);
        nanosleep(&(struct timespec){ .tv_nsec = rank == size - 1 ? 8000000 : 2000000 }, NULL);
        MPI_Send(&sent, 1, MPI_INT, next, 1, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        REQUIRE(got == step * size + before);
        /* Whoever is killed takes the directory away. */
        int is_there = rank == 0 && (access(argv[2], F_OK) == 0 || access(argv[1], F_OK) != 0);
        MPI_Allreduce(&is_there, &ends, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    }
    return finish();
}
