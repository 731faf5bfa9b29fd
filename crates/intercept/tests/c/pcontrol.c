/* MPI_Pcontrol with arguments that only another tool understands, before, between and after all else. */
#include <mpi.h>

int main(int argc, char **argv)
{
    MPI_Pcontrol(0, 6, "one", 2.5, "three", 4.5, "five", "six", 7.5, "eight");
    MPI_Init(&argc, &argv);
    MPI_Pcontrol(1);
    MPI_Pcontrol(2, 8, "one", 2.5, "three", 4.5, "five", "six", 7.5, "eight", 9.5, "ten");
    MPI_Finalize();
    return 0;
}
