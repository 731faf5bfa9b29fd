/* Messages on every kind of communicator, with the same tag everywhere, so that only the context distinguishes them.
 *
 * On each communicator every rank sends one message to its right neighbour, numbered by the communicator. On an
 * intercommunicator rank i of one side exchanges with rank i of the other. Before the first message is received, a rank
 * has sent on all communicators, in the opposite order of the receives: a message that was matched on the
 * wrong communicator would carry the wrong number.
 *
 * ranks: 1 2 4
 */
#include "check.h"

enum { MAX_COMMS = 24, TAG = 1 };

static MPI_Comm comms[MAX_COMMS];
static int comm_count;

static void add(MPI_Comm comm)
{
    if (comm != MPI_COMM_NULL) {
        REQUIRE(comm_count < MAX_COMMS);
        comms[comm_count++] = comm;
    }
}

static void add_copies(void)
{
    MPI_Comm comm;
    MPI_Request request;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    add(comm);
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &comm);
    add(comm);
    MPI_Comm_idup(MPI_COMM_WORLD, &comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    add(comm);
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    add(comm);
}

static void add_parts(int rank, int size)
{
    MPI_Comm comm;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &comm);
    add(comm);
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 5, rank, &comm);
    REQUIRE((comm == MPI_COMM_NULL) == (rank == 0));
    add(comm);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &comm);
    add(comm);

    /* The lower and the upper half, once with all ranks taking part and once with the members only. */
    MPI_Group world, half;
    int lower = (size + 1) / 2;
    int range[1][3] = {{rank < lower ? 0 : lower, rank < lower ? lower - 1 : size - 1, 1}};
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_range_incl(world, 1, range, &half);
    MPI_Comm_create(MPI_COMM_WORLD, half, &comm);
    add(comm);
    MPI_Comm_create_group(MPI_COMM_WORLD, half, rank < lower ? 1 : 2, &comm);
    add(comm);
    MPI_Group_free(&half);
    MPI_Group_free(&world);
}

static void add_topologies(int rank, int size)
{
    MPI_Comm comm, row;
    int dims[2] = {0, 0}, periods[2] = {1, 0}, remain[2] = {0, 1};
    MPI_Dims_create(size, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &comm);
    add(comm);
    MPI_Cart_sub(comm, remain, &row);
    add(row);

    /* A ring as a graph that everyone describes in full, and as one where each describes itself. */
    int *index = malloc((size_t)size * sizeof *index), *edges = malloc((size_t)size * sizeof *edges);
    REQUIRE(index != NULL && edges != NULL);
    for (int i = 0; i < size; i++) {
        index[i] = i + 1;
        edges[i] = (i + 1) % size;
    }
    MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &comm);
    add(comm);
    free(edges);
    free(index);

    int right = (rank + 1) % size, left = (rank + size - 1) % size, degree = 1;
    MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, &degree, &right, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
    add(comm);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &left, MPI_UNWEIGHTED, 1, &right, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &comm);
    add(comm);
}

/* Even and odd ranks face each other; then the two sides are merged, the odd ones first. */
static void add_intercommunicators(int rank, int size)
{
    MPI_Comm side, facing, copy, merged;
    if (size < 2)
        return;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &side);
    MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, 1 - rank % 2, 17, &facing);
    MPI_Comm_free(&side);
    add(facing);
    MPI_Comm_dup(facing, &copy);
    add(copy);
    MPI_Intercomm_merge(facing, rank % 2 == 0, &merged);
    add(merged);
    /* A communicator made from one that is no copy of the world. */
    MPI_Comm_split(merged, 0, rank, &copy);
    add(copy);
}

/* To whom this rank sends and from whom it receives on `comm`; false where it has no partner. */
static int neighbours(MPI_Comm comm, int *to, int *from)
{
    int rank, size, inter;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_test_inter(comm, &inter);
    if (inter) {
        MPI_Comm_remote_size(comm, &size);
        *to = *from = rank;
        return rank < size;
    }
    MPI_Comm_size(comm, &size);
    *to = (rank + 1) % size;
    *from = (rank + size - 1) % size;
    return 1;
}

/* Numbers agree between the members of a communicator, though not all ranks are members of the same ones. */
static void exchange(const int *numbers)
{
    MPI_Request requests[MAX_COMMS];
    int sent[MAX_COMMS], to, from;
    int active = 0;

    for (int i = comm_count - 1; i >= 0; i--) {
        sent[i] = numbers[i];
        if (neighbours(comms[i], &to, &from))
            MPI_Isend(&sent[i], 1, MPI_INT, to, TAG, comms[i], &requests[active++]);
    }
    for (int i = 0; i < comm_count; i++) {
        int received = -1;
        MPI_Status status;
        if (!neighbours(comms[i], &to, &from))
            continue;
        MPI_Recv(&received, 1, MPI_INT, i % 2 ? MPI_ANY_SOURCE : from, TAG, comms[i], &status);
        REQUIRE(received == numbers[i] && status.MPI_SOURCE == from);
        mix((uint64_t)received);
    }
    MPI_Waitall(active, requests, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank = world_rank(), size = world_size();
    int numbers[MAX_COMMS], counted = 0;

    /* Numbered kind by kind; rank 0 lacks one of the parts, therefore each kind starts at a number of its own. */
    add_copies();
    for (int n = 100; counted < comm_count; counted++)
        numbers[counted] = n++;
    add_parts(rank, size);
    for (int n = 200; counted < comm_count; counted++, n++) {
        if (rank == 0 && n == 201)
            n++; /* the communicator without rank 0 */
        numbers[counted] = n;
    }
    add_topologies(rank, size);
    for (int n = 300; counted < comm_count; counted++)
        numbers[counted] = n++;
    add_intercommunicators(rank, size);
    for (int n = 400; counted < comm_count; counted++)
        numbers[counted] = n++;

    exchange(numbers);
    while (comm_count > 0)
        MPI_Comm_free(&comms[--comm_count]);

    /* A new communicator may take the place of a freed one. */
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[comm_count++]);
    numbers[0] = 500;
    exchange(numbers);
    MPI_Comm_free(&comms[--comm_count]);
    return finish();
}
