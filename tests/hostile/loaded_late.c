/* The program is no MPI program: it loads one MPI function after another by dlsym, from a library that it opens itself.
 *
 * ranks: 2
 */
#include "hostile.h"

int main(int argc, char **argv)
{
    int (*init)(int *, char ***), (*barrier)(MPI_Comm);
    void *mine = dlopen(NULL, RTLD_NOW);
    *(void **)&init = dlsym(mine, "MPI_Init");
    *(void **)&barrier = dlsym(RTLD_DEFAULT, "MPI_Barrier");
    if (!init || !barrier)
        return 100;
    init(&argc, &argv);
    for (int i = 0; i < 20; i++)
        REQUIRE(barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    communicate(20);
    dlclose(mine);
    return finish();
}
