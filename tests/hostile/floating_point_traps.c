/* Floating-point exceptions are signals, as with -ffpe-trap: whoever divides by zero inside the process, or makes a NaN, kills it.
 *
 * ranks: 2
 * args: before
 * args: after
 */
#include "hostile.h"
#include <fenv.h>

int main(int argc, char **argv)
{
    int before = argc > 1 && strcmp(argv[1], "before") == 0;
    if (before)
        feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
    MPI_Init(&argc, &argv);
    communicate(20);
    REQUIRE(!before || fegetexcept() == (FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW));
    feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
    communicate(200);
    finish();
    REQUIRE(fegetexcept() == (FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW));
    return 0;
}
