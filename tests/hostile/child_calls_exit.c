/* Children of fork call exit: handlers of the parent's exit run in them, and must leave the parent's files alone.
 *
 * ranks: 2
 */
#include "hostile.h"

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 3; i++) {
        communicate(20);
        pid_t child = fork();
        if (child == 0)
            exit(7);
        REQUIRE(end_of(child) == 7);
    }
    communicate(20);
    return finish();
}
