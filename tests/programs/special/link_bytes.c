/* Each rank exchanges 10 MB with the one that is half of all ranks further, on a communicator whose order may come from
 * a file of keys, and rank 0 prints what the links of all nodes have sent meanwhile, as the kernel counts it.
 *
 * Expected, of args [KEYS]: a line `links have sent N bytes`. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { LENGTH = 1 << 20, STEPS = 10 };

static char data[2][LENGTH];

/* What the link of this node has sent so far. */
static long long sent_by_link(void)
{
    long long bytes = 0, received;
    char line[512];
    FILE *devices = fopen("/proc/net/dev", "r");
    while (devices && fgets(line, sizeof line, devices))
        if (sscanf(line, " eth0: %lld %*d %*d %*d %*d %*d %*d %*d %lld", &received, &bytes) == 2)
            break;
    if (devices)
        fclose(devices);
    return bytes;
}

/* Of all nodes together, on rank 0 of the communicator. */
static long long sent_by_all(MPI_Comm comm, int is_first_of_node)
{
    MPI_Barrier(comm);
    long long mine = is_first_of_node ? sent_by_link() : 0, all = 0;
    MPI_Reduce(&mine, &all, 1, MPI_LONG_LONG, MPI_SUM, 0, comm);
    /* Nobody goes on sending before every node has read. */
    MPI_Barrier(comm);
    return all;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size, on_node, key;
    MPI_Comm node, comm;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &on_node);
    key = rank;
    FILE *keys = argc > 1 ? fopen(argv[1], "r") : NULL;
    for (int line = 0; keys && line <= rank; line++)
        if (fscanf(keys, "%d", &key) != 1)
            MPI_Abort(MPI_COMM_WORLD, 1);
    if (keys)
        fclose(keys);
    MPI_Comm_split(MPI_COMM_WORLD, 0, key, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    int to = (rank + size / 2) % size, from = (rank + size - size / 2) % size;

    long long before = sent_by_all(comm, on_node == 0);
    for (int step = 0; step < STEPS; step++)
        MPI_Sendrecv(data[0], LENGTH, MPI_CHAR, to, 0, data[1], LENGTH, MPI_CHAR, from, 0, comm, MPI_STATUS_IGNORE);
    long long after = sent_by_all(comm, on_node == 0);
    if (rank == 0)
        printf("links have sent %lld bytes\n", after - before);
    MPI_Comm_free(&comm);
    MPI_Comm_free(&node);
    MPI_Finalize();
    return 0;
}
