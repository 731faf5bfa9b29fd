/* To be preloaded: ends the program when MPI is asked about MPI_COMM_WORLD or MPI_COMM_SELF where they are not there. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void check(MPI_Comm comm, const char *function)
{
    int begun = 0, ended = 0;
    PMPI_Initialized(&begun);
    PMPI_Finalized(&ended);
    if ((comm == MPI_COMM_WORLD || comm == MPI_COMM_SELF) && (!begun || ended)) {
        printf("%s is asked about what is not there\n", function);
        fflush(stdout);
        abort();
    }
}

#define CHECKED(function, type) \
    int function(MPI_Comm comm, type *answer) \
    { \
        check(comm, #function); \
        int (*next)(MPI_Comm, type *) = (int (*)(MPI_Comm, type *))dlsym(RTLD_NEXT, #function); \
        return next(comm, answer); \
    }

CHECKED(PMPI_Comm_test_inter, int)
CHECKED(PMPI_Comm_rank, int)
CHECKED(PMPI_Comm_size, int)
CHECKED(PMPI_Comm_group, MPI_Group)
CHECKED(PMPI_Comm_get_errhandler, MPI_Errhandler)
