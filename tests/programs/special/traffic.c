/*
 * ranks: 4
 *
 * Sends known numbers of messages and bytes in each kind of communication. What each rank sends, in messages and bytes:
 *
 *   MPI_COMM_WORLD, to the next rank     10 MPI_Send of 100 ints, 5 MPI_Isend of 1 byte, 3 starts of a persistent send of 7 bytes, 2 MPI_Sendrecv
 *                                        of 8 bytes, 1 empty message: 21 messages, 4042 bytes
 *   MPI_COMM_WORLD, to MPI_PROC_NULL     nothing
 *   "halves" (ranks of the same parity)  4 MPI_Send of 16 bytes to the other: rank 0 to 2, 1 to 3, and back
 *   between the halves                   1 MPI_Send of 32 bytes to the rank of the other group with the same rank: 0 to 1, 2 to 3, and back
 *   window                               2 MPI_Put of 8 bytes to the next, 1 MPI_Get of 4 bytes from the next
 *   collective, MPI_COMM_WORLD           3 MPI_Bcast of 64 bytes from rank 1, 2 MPI_Allreduce of 8 bytes, 1 MPI_Reduce of 4 bytes to rank 2,
 *                                        1 MPI_Alltoallv in which rank r sends 10 r + d bytes to rank d
 *   file, if the MPI has files           1 MPI_File_write_at of 20 bytes, 1 MPI_File_read_at of 12
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void ring(int rank, int size) {
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    int many[100] = {0}, got[100];
    char byte[8] = {0}, in[8];
    MPI_Request request[2];
    for (int i = 0; i < 10; i++) {
        MPI_Irecv(got, 100, MPI_INT, before, 1, MPI_COMM_WORLD, &request[0]);
        MPI_Send(many, 100, MPI_INT, next, 1, MPI_COMM_WORLD);
        MPI_Wait(&request[0], MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < 5; i++) {
        MPI_Irecv(in, 1, MPI_BYTE, before, 2, MPI_COMM_WORLD, &request[0]);
        MPI_Isend(byte, 1, MPI_BYTE, next, 2, MPI_COMM_WORLD, &request[1]);
        MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    }
    MPI_Recv_init(in, 7, MPI_BYTE, before, 3, MPI_COMM_WORLD, &request[0]);
    MPI_Send_init(byte, 7, MPI_BYTE, next, 3, MPI_COMM_WORLD, &request[1]);
    for (int i = 0; i < 3; i++) {
        MPI_Startall(2, request);
        MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&request[0]);
    MPI_Request_free(&request[1]);
    for (int i = 0; i < 2; i++)
        MPI_Sendrecv(byte, 8, MPI_BYTE, next, 4, in, 8, MPI_BYTE, before, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(byte, 0, MPI_BYTE, next, 5, in, 0, MPI_BYTE, before, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(byte, 8, MPI_BYTE, MPI_PROC_NULL, 6, MPI_COMM_WORLD);
}

static void groups(int rank) {
    MPI_Comm halves, between;
    char out[32] = {0}, in[32];
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &halves);
    MPI_Comm_set_name(halves, "halves");
    int other = 1 - rank / 2;
    for (int i = 0; i < 4; i++)
        MPI_Sendrecv(out, 16, MPI_BYTE, other, 1, in, 16, MPI_BYTE, other, 1, halves, MPI_STATUS_IGNORE);
    MPI_Intercomm_create(halves, 0, MPI_COMM_WORLD, 1 - rank % 2, 9, &between);
    MPI_Comm_set_name(between, "between");
    MPI_Sendrecv(out, 32, MPI_BYTE, rank / 2, 1, in, 32, MPI_BYTE, rank / 2, 1, between, MPI_STATUS_IGNORE);
    MPI_Comm_free(&between);
    MPI_Comm_free(&halves);
}

static void window(int rank, int size) {
    double memory[2] = {0}, out = 1;
    int in;
    MPI_Win win;
    MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    MPI_Put(&out, 1, MPI_DOUBLE, (rank + 1) % size, 0, 1, MPI_DOUBLE, win);
    MPI_Win_fence(0, win);
    MPI_Put(&out, 1, MPI_DOUBLE, (rank + 1) % size, 0, 1, MPI_DOUBLE, win);
    MPI_Win_fence(0, win);
    MPI_Get(&in, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
}

static void together(int rank, int size) {
    char data[64] = {0}, out[64], in[64];
    double one = 1, sum;
    int count = 1, all, counts[4], displacements[4], from[4], at[4];
    for (int i = 0; i < 3; i++)
        MPI_Bcast(data, 64, MPI_BYTE, 1, MPI_COMM_WORLD);
    for (int i = 0; i < 2; i++)
        MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Reduce(&count, &all, 1, MPI_INT, MPI_SUM, 2, MPI_COMM_WORLD);
    char *big_out = calloc(4, 64), *big_in = calloc(4, 64);
    for (int i = 0; i < size; i++) {
        counts[i] = 10 * rank + i;
        from[i] = 10 * i + rank;
        displacements[i] = at[i] = 64 * i;
    }
    MPI_Alltoallv(big_out, counts, displacements, MPI_BYTE, big_in, from, at, MPI_BYTE, MPI_COMM_WORLD);
    free(big_out);
    free(big_in);
    (void)out;
    (void)in;
}

static void file(int rank, const char *name) {
#ifdef MPI_MODE_RDWR
    char data[20] = {0};
    MPI_File fh;
    if (MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh) != MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 3);
    MPI_File_write_at(fh, 20 * rank, data, 20, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_read_at(fh, 20 * rank, data, 12, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_close(&fh);
#else
    (void)name;
    if (rank == 0)
        printf("this MPI has no files\n");
#endif
}

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != 4)
        MPI_Abort(MPI_COMM_WORLD, 2);
    ring(rank, size);
    groups(rank);
    window(rank, size);
    together(rank, size);
    if (argc > 1)
        file(rank, argv[1]);
    MPI_Finalize();
    return 0;
}
