/* No other process may read the memory of this one.
 *
 * ranks: 2
 */
#include "hostile.h"

int main(int argc, char **argv)
{
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    MPI_Init(&argc, &argv);
    communicate(200);
    return finish();
}
