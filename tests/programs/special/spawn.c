/* Two processes start two more of this program, and exchange messages with them: between the groups, and in a communicator
 * of both. Then the first two connect to each other by a port. */
#include "../check.h"

static void around(MPI_Comm comm, int tag)
{
    int rank, size, received = -1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    MPI_Sendrecv(&rank, 1, MPI_INT, right, tag, &received, 1, MPI_INT, left, tag, comm, MPI_STATUS_IGNORE);
    REQUIRE(received == left);
}

static void between(MPI_Comm inter, int tag)
{
    int rank, received = -1;
    MPI_Status status;
    MPI_Comm_rank(inter, &rank);
    MPI_Sendrecv(&rank, 1, MPI_INT, rank, tag, &received, 1, MPI_INT, rank, tag, inter, &status);
    REQUIRE(received == rank && status.MPI_SOURCE == rank);
}

static void by_port(void)
{
    MPI_Comm inter;
    char port[MPI_MAX_PORT_NAME] = "";
    /* MPICH 5 cannot open a port on every machine. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (world_rank() == 0 && MPI_Open_port(MPI_INFO_NULL, port) != MPI_SUCCESS)
        port[0] = '\0';
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (port[0] == '\0') {
        if (world_rank() == 0)
            printf("without a port\n");
        return;
    }
    if (world_rank() == 0)
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
    else
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
    between(inter, 3);
    MPI_Comm_disconnect(&inter);
    if (world_rank() == 0)
        MPI_Close_port(port);
}

int main(int argc, char **argv)
{
    MPI_Comm parent, inter, merged;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    inter = parent;
    if (parent == MPI_COMM_NULL)
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
    between(inter, 1);
    MPI_Intercomm_merge(inter, parent != MPI_COMM_NULL, &merged);
    around(merged, 2);
    around(MPI_COMM_WORLD, 4);
    MPI_Comm_free(&merged);
    MPI_Comm_disconnect(&inter);
    if (parent == MPI_COMM_NULL) {
        if (argc > 1)
            by_port();
        return finish();
    }
    MPI_Finalize();
    return 0;
}
