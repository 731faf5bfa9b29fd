/* A program that starts MPI, computes, and calls it no more.
 *
 * ranks: 2
 */
#include "../planted/planted.h"

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    start_watch();
    volatile double x = 1;
    for (double begin = now_s(); now_s() < begin + 0.3;)
        for (int i = 0; i < 1000; i++)
            x = 0.5 * (x + 2 / x);
    return end();
}
