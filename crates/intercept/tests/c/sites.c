/* Calls MPI from functions whose names the dynamic linker knows. */
#include <mpi.h>
#include <pthread.h>

void first(void) { MPI_Barrier(MPI_COMM_SELF); __asm__ volatile(""); }

/* A wrapper of the program's own: the call is in it. */
int own_wrapper(int *rank)
{
    int code = MPI_Comm_rank(MPI_COMM_WORLD, rank);
    __asm__ volatile("");
    return code;
}

void *in_thread(void *unused)
{
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    __asm__ volatile("");
    return unused;
}

/* An operation that MPI calls back, and that calls MPI itself. */
void add(void *in, void *inout, int *count, MPI_Datatype *type)
{
    int size;
    MPI_Type_size(*type, &size);
    for (int i = 0; i < *count; i++) ((int *)inout)[i] += ((int *)in)[i];
}

void reduces(void)
{
    int mine = 1, sum = 0;
    MPI_Op op;
    MPI_Op_create(add, 1, &op);
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, op, MPI_COMM_WORLD);
    MPI_Op_free(&op);
    __asm__ volatile("");
}

int main(int argc, char **argv)
{
    int provided, rank;
    pthread_t thread;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    first();
    own_wrapper(&rank);
    pthread_create(&thread, 0, in_thread, 0);
    pthread_join(thread, 0);
    reduces();
    first();
    MPI_Finalize();
    return 0;
}
