/* The rounding mode is the program's, and so are its floating-point flags: MPI calls change neither.
 *
 * ranks: 2
 */
#include "hostile.h"
#include <fenv.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    fesetround(FE_UPWARD);
    for (int i = 0; i < 50; i++) {
        volatile double three = 3, third;
        communicate(1);
        REQUIRE(fegetround() == FE_UPWARD);
        third = 1 / three;
        REQUIRE(third * 3 > 1);
    }
    return finish();
}
