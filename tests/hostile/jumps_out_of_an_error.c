/* An error handler of the program leaves the MPI call by longjmp, again and again.
 *
 * ranks: 2
 */
#include "hostile.h"
#include <setjmp.h>

static jmp_buf before;
static volatile int errors;

static void on_error(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    errors++;
    longjmp(before, 1);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(on_error, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    for (volatile int i = 0; i < 50; i++) {
        communicate(2);
        if (!setjmp(before)) {
            int value = 0;
            /* Of one function calls are made often, of the other seldom. */
            if (i % 2)
                MPI_Send(&value, 1, MPI_INT, world_size() + 7, 1, MPI_COMM_WORLD);
            else
                MPI_Ssend(&value, 1, MPI_INT, world_size() + 7, 1, MPI_COMM_WORLD);
            REQUIRE(0);
        }
    }
    REQUIRE(errors == 50);
    MPI_Errhandler_free(&handler);
    return finish();
}
