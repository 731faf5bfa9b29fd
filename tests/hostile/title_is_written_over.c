/* The arguments are written over to show another title in lists of processes, and MPI_Init gets no arguments.
 *
 * ranks: 2
 */
#include "hostile.h"

int main(int argc, char **argv)
{
    for (int i = 0; i < argc; i++)
        memset(argv[i], '-', strlen(argv[i]));
    prctl(PR_SET_NAME, "\033[31m\n", 0, 0, 0);
    MPI_Init(NULL, NULL);
    communicate(50);
    return finish();
}
