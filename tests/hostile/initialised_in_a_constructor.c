/* MPI is initialised before main, by a constructor, and finalized after it, by a destructor.
 *
 * ranks: 2
 */
#include "hostile.h"

__attribute__((constructor)) static void begin(void)
{
    MPI_Init(NULL, NULL);
}

__attribute__((destructor)) static void end(void)
{
    communicate(5);
    finish();
}

int main(void)
{
    communicate(50);
    return 0;
}
