/* Standard error is a pipe that nobody reads any more, and SIGPIPE has its default: whoever writes there is killed.
 *
 * ranks: 2
 */
#include "hostile.h"

int main(int argc, char **argv)
{
    int ends[2];
    MPI_Init(&argc, &argv);
    communicate(20);
    signal(SIGPIPE, SIG_DFL);
    REQUIRE(pipe(ends) == 0);
    dup2(ends[1], 2);
    close(ends[0]);
    close(ends[1]);
    communicate(20);
    return finish();
}
