/* An MPI library of an ABI that nobody knows. */
#include <string.h>

int MPI_Init(int *argc, char ***argv) { (void)argc; (void)argv; return 0; }
int MPI_Finalize(void) { return 0; }
int MPI_Comm_rank(long comm, int *rank) { *rank = comm == 77 ? 4 : -1; return 0; }
int MPI_Get_library_version(char *version, int *length)
{
    strcpy(version, "Strange MPI 0.1\nbuilt by nobody");
    *length = (int)strlen(version);
    return 0;
}
int PMPI_Init(int *argc, char ***argv) { return MPI_Init(argc, argv); }
