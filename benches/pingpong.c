/* Latency: an 8-byte message goes to the other rank and back, again and again.
 *
 * Prints the time of one way in nanoseconds: the median of several repetitions of ITERATIONS round trips each.
 * The first repetition warms up and does not count.
 */
#include "bench.h"

static void round_trips(int rank, long iterations)
{
    long long payload = 0;
    for (long i = 0; i < iterations; i++) {
        if (rank == 0) {
            MPI_Send(&payload, 8, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
            MPI_Recv(&payload, 8, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(&payload, 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(&payload, 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
        }
    }
}

int main(int argc, char **argv)
{
    long iterations = 5000;
    double nanoseconds[REPETITIONS];
    int rank = start(&argc, &argv, &iterations);

    for (int repetition = -1; repetition < REPETITIONS; repetition++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = MPI_Wtime();
        round_trips(rank, iterations);
        double seconds = MPI_Wtime() - begin;
        if (repetition >= 0)
            nanoseconds[repetition] = seconds * 1e9 / (2.0 * (double)iterations);
    }
    if (rank == 0)
        printf("latency_ns %.2f\n", median(nanoseconds));
    finish(rank);
    return 0;
}
