/* The environment is cleared before MPI_Finalize, and its memory is written over.
 *
 * ranks: 2
 */
#include "hostile.h"

extern char **environ;

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    communicate(20);
    for (char **entry = environ; entry && *entry; entry++)
        memset(*entry, 'x', strlen(*entry));
    clearenv();
    communicate(20);
    return finish();
}
