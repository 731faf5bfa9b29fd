/* The program has functions of its own that are called as functions of the C library are, and do something else.
 *
 * ranks: 2
 */
#include "hostile.h"

int reserve(int a) { return a + 1; }
int lock(int a) { return a + 2; }
int hold(int a) { return a + 3; }
int backtrace(int a) { return a + 4; }
int crc32(int a) { return a + 5; }
int mel_version(int a) { return a + 6; }

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    communicate(50);
    REQUIRE(reserve(0) + lock(0) + hold(0) + backtrace(0) + crc32(0) + mel_version(0) == 21);
    return finish();
}
