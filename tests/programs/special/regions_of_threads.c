/* A thread that is in a region before MPI is initialised, goes into another one while recording is off, and ends in a third one, with a
   barrier in each; then another thread, with a barrier in none. Names regions of yet another thread, which calls no MPI, all the time. */
#define _DEFAULT_SOURCE
#include <pthread.h>
#include <stdatomic.h>

#include "../check.h"
#include "../../../include/mel.h"

static pthread_barrier_t turn;
static MPI_Comm of_threads;
static atomic_int over;

static void in_turn(void)
{
    pthread_barrier_wait(&turn);
}

static void *work(void *unused)
{
    mel_region_begin("before");
    in_turn();
    in_turn();
    MPI_Barrier(of_threads);
    in_turn();
    in_turn();
    mel_region_end("before");
    mel_region_begin("meanwhile");
    in_turn();
    in_turn();
    MPI_Barrier(of_threads);
    mel_region_end("meanwhile");
    mel_region_begin("at the end");
    MPI_Barrier(of_threads);
    return unused;
}

static void *work_in_none(void *unused)
{
    MPI_Barrier(of_threads);
    return unused;
}

static void *never_in_mpi(void *unused)
{
    while (!over) {
        mel_region_begin("elsewhere");
        mel_region_end("elsewhere");
    }
    return unused;
}

int main(int argc, char **argv)
{
    int provided;
    pthread_t worker, other;
    pthread_barrier_init(&turn, NULL, 2);
    pthread_create(&worker, NULL, work, NULL);
    in_turn();
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    REQUIRE(provided == MPI_THREAD_MULTIPLE);
    MPI_Comm_dup(MPI_COMM_WORLD, &of_threads);
    pthread_create(&other, NULL, never_in_mpi, NULL);
    in_turn();
    in_turn();
    MPI_Pcontrol(0);
    in_turn();
    in_turn();
    MPI_Pcontrol(1);
    in_turn();
    pthread_join(worker, NULL);
    pthread_create(&worker, NULL, work_in_none, NULL);
    pthread_join(worker, NULL);
    over = 1;
    pthread_join(other, NULL);
    return finish();
}
