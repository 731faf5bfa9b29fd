/* Message rate: rank 0 sends windows of 64 messages of 8 bytes, rank 1 answers each window with one message.
 *
 * Prints messages per second: the median of several repetitions of ITERATIONS windows each. The first repetition warms
 * up and does not count.
 */
#include "bench.h"

enum { WINDOW = 64 };

static void windows(int rank, long iterations)
{
    static long long payloads[WINDOW];
    long long answer = 0;
    MPI_Request requests[WINDOW];
    for (long i = 0; i < iterations; i++) {
        for (int m = 0; m < WINDOW; m++) {
            if (rank == 0)
                MPI_Isend(&payloads[m], 8, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &requests[m]);
            else
                MPI_Irecv(&payloads[m], 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &requests[m]);
        }
        MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
        if (rank == 0)
            MPI_Recv(&answer, 8, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            MPI_Send(&answer, 8, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    long iterations = 300;
    double rates[REPETITIONS];
    int rank = start(&argc, &argv, &iterations);

    for (int repetition = -1; repetition < REPETITIONS; repetition++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = MPI_Wtime();
        windows(rank, iterations);
        double seconds = MPI_Wtime() - begin;
        if (repetition >= 0)
            rates[repetition] = (double)iterations * WINDOW / seconds;
    }
    if (rank == 0)
        printf("rate_per_s %.0f\n", median(rates));
    finish(rank);
    return 0;
}
