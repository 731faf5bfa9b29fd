/* Steps of a ring, until a file is there; then each rank prints what the control variable of this name is. Each rank leaves its process
 * id in DIR/pid-RANK. Once the file is there, each rank may send so many messages to itself.
 *
 * settable DIR FILE NAME [MESSAGES]
 */
#define _POSIX_C_SOURCE 200809L
#include "../check.h"
#include <time.h>
#include <unistd.h>

/* The value of a variable of type int. */
static int value_of(const char *name)
{
    int provided, index, count, value = -1;
    MPI_T_cvar_handle handle;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    REQUIRE(MPI_T_cvar_get_index(name, &index) == MPI_SUCCESS);
    REQUIRE(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) == MPI_SUCCESS && count == 1);
    REQUIRE(MPI_T_cvar_read(handle, &value) == MPI_SUCCESS && MPI_T_cvar_handle_free(&handle) == MPI_SUCCESS);
    return value;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    REQUIRE(argc == 4 || argc == 5);
    int rank = world_rank(), size = world_size();
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    char path[4096], whole[4096];
    snprintf(path, sizeof path, "%s/pid-%d.part", argv[1], rank);
    snprintf(whole, sizeof whole, "%s/pid-%d", argv[1], rank);
    FILE *file = fopen(path, "w");
    REQUIRE(file != NULL && fprintf(file, "%d\n", (int)getpid()) > 0 && fclose(file) == 0 && rename(path, whole) == 0);
    for (int step = 0, ends = 0; !ends; step++) {
        int sent = step * size + rank, got = -1;
        nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
        MPI_Sendrecv(&sent, 1, MPI_INT, next, 1, &got, 1, MPI_INT, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        REQUIRE(got == step * size + before);
        /* Whoever is killed takes the directory away. */
        int is_there = rank == 0 && (access(argv[2], F_OK) == 0 || access(argv[1], F_OK) != 0);
        MPI_Allreduce(&is_there, &ends, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    }
    for (int messages = argc == 5 ? atoi(argv[4]) : 0, got; messages > 0; messages--)
        MPI_Sendrecv(&messages, 1, MPI_INT, 0, 2, &got, 1, MPI_INT, 0, 2, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    int value = value_of(argv[3]), values[64];
    REQUIRE(size <= 64);
    MPI_Gather(&value, 1, MPI_INT, values, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int other = 0; rank == 0 && other < size; other++)
        printf("rank %d: %d\n", other, values[other]);
    return finish();
}
