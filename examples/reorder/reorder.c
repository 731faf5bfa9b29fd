/* A program that gives its processes better ranks, once it knows who talks to whom.
 *
 *   reorder                  counts in a first phase what each rank sends to each other one
 *   reorder --keys FILE      takes the new ranks from a file of `mel place --keys`
 *   reorder --per-node N …   counts as if N processes each were on a node, to try it on one
 *
 * Then MPI_Comm_split makes a communicator in which those that talk are on the same node, and the program goes on
 * with it. This is to be done before the data is distributed: a new rank means other data.
 *
 * See README.md for how to build and run it. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH = 1 << 14, STEPS = 10 };

static char data[2][LENGTH];

/* One phase of the application: each rank exchanges with the one that is half of all ranks further. What it sends
 * is added to `sent`, one number for each rank. */
static void phase(MPI_Comm comm, long *sent)
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    int to = (rank + size / 2) % size, from = (rank + size - size / 2) % size;
    for (int step = 0; step < STEPS; step++) {
        MPI_Sendrecv(data[0], LENGTH, MPI_CHAR, to, 0, data[1], LENGTH, MPI_CHAR, from, 0, comm, MPI_STATUS_IGNORE);
        sent[to] += LENGTH;
    }
}

/* The node of each process of a communicator: the lowest rank that shares memory with it. */
static void find_nodes(MPI_Comm comm, int per_node, int *node_of)
{
    int rank, first;
    MPI_Comm node;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
    first = rank;
    MPI_Bcast(&first, 1, MPI_INT, 0, node);
    MPI_Comm_free(&node);
    if (per_node > 0)
        first = rank / per_node;
    MPI_Allgather(&first, 1, MPI_INT, node_of, 1, MPI_INT, comm);
}

/* Bytes between nodes if rank r is what process[r] does now. */
static long crossing(int size, const long *sent, const int *process, const int *node_of)
{
    long bytes = 0;
    for (int a = 0; a < size; a++)
        for (int b = 0; b < size; b++)
            if (node_of[process[a]] != node_of[process[b]])
                bytes += sent[a * size + b];
    return bytes;
}

/* The new rank of each process. Node by node: the lowest rank that has no process yet, then always the one that
 * exchanges most with those that are there. What is no better than what there was is not taken. */
static void order(int size, const long *sent, const int *node_of, int *new_rank)
{
    int *process = calloc(size, sizeof *process), *old = calloc(size, sizeof *old);
    long *near = calloc(size, sizeof *near);
    for (int p = 0; p < size; p++)
        process[p] = -1, old[p] = p;
    for (int first = 0; first < size; first++) {
        int is_first = 1;
        for (int p = 0; p < first; p++)
            is_first = is_first && node_of[p] != node_of[first];
        if (!is_first)
            continue;
        memset(near, 0, size * sizeof *near);
        for (int p = first; p < size; p++) {
            if (node_of[p] != node_of[first])
                continue;
            int best = -1;
            for (int r = 0; r < size; r++)
                if (process[r] < 0 && (best < 0 || near[r] > near[best]))
                    best = r;
            process[best] = p;
            for (int r = 0; r < size; r++)
                near[r] += sent[best * size + r] + sent[r * size + best];
        }
    }
    if (crossing(size, sent, process, node_of) >= crossing(size, sent, old, node_of))
        memcpy(process, old, size * sizeof *process);
    for (int r = 0; r < size; r++)
        new_rank[process[r]] = r;
    free(process), free(old), free(near);
}

/* The new ranks from a file, a line each; false where it has not all of them, each once. */
static int read_keys(const char *name, int size, int *new_rank)
{
    FILE *file = fopen(name, "r");
    char *taken = calloc(size, 1);
    int is_good = file != NULL;
    for (int p = 0; is_good && p < size; p++)
        is_good = fscanf(file, "%d", &new_rank[p]) == 1 && new_rank[p] >= 0 && new_rank[p] < size &&
                  !taken[new_rank[p]]++;
    if (file)
        fclose(file);
    free(taken);
    return is_good;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size, per_node = 0;
    const char *keys = NULL;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--per-node") == 0)
            per_node = atoi(argv[i + 1]);
        if (strcmp(argv[i], "--keys") == 0)
            keys = argv[i + 1];
    }

    long *sent = calloc(size, sizeof *sent), *all = calloc((size_t)size * size, sizeof *all);
    int *node_of = calloc(size, sizeof *node_of), *new_rank = calloc(size, sizeof *new_rank);
    int is_good = 1;
    phase(MPI_COMM_WORLD, sent);
    MPI_Gather(sent, size, MPI_LONG, all, size, MPI_LONG, 0, MPI_COMM_WORLD);
    find_nodes(MPI_COMM_WORLD, per_node, node_of);
    if (rank == 0 && keys)
        is_good = read_keys(keys, size, new_rank);
    else if (rank == 0)
        order(size, all, node_of, new_rank);
    MPI_Bcast(&is_good, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (!is_good) {
        if (rank == 0)
            fprintf(stderr, "%s has not the new ranks of %d processes\n", keys, size);
        MPI_Finalize();
        return 1;
    }
    MPI_Bcast(new_rank, size, MPI_INT, 0, MPI_COMM_WORLD);

    /* All are of one colour: it is the same processes, in the order of their keys. */
    MPI_Comm better;
    MPI_Comm_split(MPI_COMM_WORLD, 0, new_rank[rank], &better);
    memset(sent, 0, size * sizeof *sent);
    phase(better, sent);
    MPI_Gather(sent, size, MPI_LONG, rank == 0 ? all : NULL, size, MPI_LONG, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        int *process = calloc(size, sizeof *process), *old = calloc(size, sizeof *old);
        long *by_rank = calloc((size_t)size * size, sizeof *by_rank);
        for (int p = 0; p < size; p++)
            process[new_rank[p]] = p, old[p] = p;
        for (int p = 0; p < size; p++)
            memcpy(by_rank + (size_t)new_rank[p] * size, all + (size_t)p * size, size * sizeof *by_rank);
        printf("bytes between nodes: %ld before, %ld now\n", crossing(size, by_rank, old, node_of),
               crossing(size, by_rank, process, node_of));
        free(process), free(old), free(by_rank);
    }
    MPI_Comm_free(&better);
    free(sent), free(all), free(node_of), free(new_rank);
    MPI_Finalize();
    return 0;
}
