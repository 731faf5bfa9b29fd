/* Lets the library under test call MPI for itself. */
#include <mpi.h>

int abi_probe_calls(void);

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int wrong = abi_probe_calls();
    MPI_Finalize();
    return wrong;
}
