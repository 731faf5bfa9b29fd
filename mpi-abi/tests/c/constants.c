/* Prints MPI's constants as this MPI's mpi.h has them, then lets the library under test print its own. */
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>

void abi_probe_constants(void);

#define SHOW(name) printf("%s %lld\n", #name, (long long)(name))

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    SHOW(MPI_COMM_WORLD); SHOW(MPI_COMM_SELF); SHOW(MPI_COMM_NULL); SHOW(MPI_REQUEST_NULL);
    SHOW(MPI_MESSAGE_NULL); SHOW(MPI_MESSAGE_NO_PROC); SHOW(MPI_GROUP_NULL); SHOW(MPI_GROUP_EMPTY);
    SHOW(MPI_DATATYPE_NULL); SHOW(MPI_BYTE); SHOW(MPI_CHAR); SHOW(MPI_INT); SHOW(MPI_INT64_T);
    SHOW(MPI_UINT64_T); SHOW(MPI_DOUBLE); SHOW(MPI_SUM); SHOW(MPI_MAX); SHOW(MPI_MIN);
    SHOW(MPI_INFO_NULL); SHOW(MPI_ERRORS_RETURN); SHOW(MPI_ANY_SOURCE); SHOW(MPI_ANY_TAG);
    SHOW(MPI_PROC_NULL); SHOW(MPI_ROOT); SHOW(MPI_UNDEFINED); SHOW(MPI_STATUS_IGNORE);
    SHOW(MPI_STATUSES_IGNORE); SHOW(MPI_IN_PLACE); SHOW(MPI_BOTTOM); SHOW(MPI_COMM_TYPE_SHARED);
    SHOW(MPI_SUCCESS); SHOW(MPI_ERR_IN_STATUS); SHOW(MPI_ERR_PENDING); SHOW(MPI_IDENT);
    SHOW(MPI_CONGRUENT); SHOW(MPI_SIMILAR); SHOW(MPI_UNEQUAL);
    SHOW(MPI_MAX_LIBRARY_VERSION_STRING); SHOW(MPI_MAX_PROCESSOR_NAME); SHOW(MPI_MAX_OBJECT_NAME);
    SHOW(MPI_MAX_ERROR_STRING); SHOW(MPI_THREAD_SINGLE); SHOW(MPI_THREAD_FUNNELED);
    SHOW(MPI_THREAD_SERIALIZED); SHOW(MPI_THREAD_MULTIPLE);
    printf("sizeof(MPI_Status) %zu\n", sizeof(MPI_Status));
    printf("offsetof(MPI_SOURCE) %zu\n", offsetof(MPI_Status, MPI_SOURCE));
    printf("offsetof(MPI_TAG) %zu\n", offsetof(MPI_Status, MPI_TAG));
    printf("offsetof(MPI_ERROR) %zu\n", offsetof(MPI_Status, MPI_ERROR));
    printf("sizeof(MPI_Comm) %zu\n", sizeof(MPI_Comm));
    printf("sizeof(MPI_Request) %zu\n", sizeof(MPI_Request));
    SHOW(MPI_VERSION); SHOW(MPI_SUBVERSION);
    puts("--");
    fflush(stdout);
    abi_probe_constants();
    MPI_Finalize();
    return 0;
}
