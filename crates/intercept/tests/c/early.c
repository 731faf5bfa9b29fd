/* What MPI allows before MPI_Init and after MPI_Finalize. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    int before, early, after, late, version, subversion, length;
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    MPI_Initialized(&before);
    MPI_Finalized(&early);
    MPI_Get_version(&version, &subversion);
    MPI_Get_library_version(library, &length);
    MPI_Init(&argc, &argv);
    MPI_Initialized(&after);
    MPI_Finalize();
    MPI_Finalized(&late);
    printf("%d %d %d %d %d %d\n", before, early, after, late, version == MPI_VERSION,
           (int)strlen(library) == length || library[length - 1] == 0);
    return 0;
}
