/* Mistakes in what messages are made of and where they are in memory, that did no harm, and what looks like them: the first argument names
 * one, each of which is made ten times. Two ranks of a pair do the same. */
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { STEPS = 10, COUNT = 2048 };

struct both { int number; double value; };

static int rank, size;
static double out[COUNT], in[COUNT];
static MPI_Datatype both, column;

static void even_sends(MPI_Datatype sent, int sent_count, MPI_Datatype received, int received_count)
{
    if (rank % 2 == 0)
        MPI_Send(out, sent_count, sent, rank + 1, 0, MPI_COMM_WORLD); /* line SENT */
    else
        MPI_Recv(in, received_count, received, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* line RECEIVED */
}

/* Four bytes each. */
static void integers_as_floats(void)
{
    even_sends(MPI_INT, 8, MPI_FLOAT, 8);
}

static void structures_the_other_way_round(void)
{
    even_sends(MPI_DOUBLE_INT, 2, both, 2);
}

static void the_same_in_other_words(void)
{
    even_sends(MPI_INT, 8, MPI_INT32_T, 8);
    even_sends(both, 2, both, 2);
    even_sends(MPI_DOUBLE, 2, column, 1);
    even_sends(MPI_BYTE, 16, MPI_DOUBLE, 2);
    even_sends(MPI_CHAR, 4, MPI_INT, 1);
    /* The first part of a structure. */
    even_sends(MPI_INT, 1, both, 1);
    even_sends(MPI_INT, 0, MPI_DOUBLE, 1);
}

static void posted_types(void)
{
    MPI_Request requests[2];
    MPI_Irecv(in, 2, MPI_DOUBLE, rank ^ 1, 0, MPI_COMM_WORLD, &requests[0]); /* line POSTED */
    MPI_Isend(out, 2, MPI_LONG, rank ^ 1, 0, MPI_COMM_WORLD, &requests[1]); /* line STARTED */
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void sums_and_maxima(void)
{
    MPI_Allreduce(out, in, 4, MPI_DOUBLE, rank == 1 ? MPI_MAX : MPI_SUM, MPI_COMM_WORLD); /* line REDUCED */
}

static void reduced_as_integers(void)
{
    MPI_Reduce(out, in, 4, rank == 1 ? MPI_LONG : MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD); /* line SUMMED */
}

static void add(void *from, void *to, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++)
        ((double *)to)[i] += ((double *)from)[i];
}

static void alike(void)
{
    MPI_Op own;
    double all[64];
    MPI_Op_create(add, 1, &own);
    MPI_Allreduce(out, in, 4, MPI_DOUBLE, own, MPI_COMM_WORLD);
    MPI_Op_free(&own);
    MPI_Reduce(rank == 0 ? MPI_IN_PLACE : out, in, 4, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Bcast(in, rank == 0 ? 2 : 1, rank == 0 ? MPI_DOUBLE : column, 0, MPI_COMM_WORLD);
    /* What is not the root's does not matter elsewhere. */
    MPI_Gather(out, 1, MPI_DOUBLE, all, 1, rank == 0 ? MPI_DOUBLE : MPI_INT, 0, MPI_COMM_WORLD);
    int counts[64], places[64];
    MPI_Datatype types[64];
    for (int to = 0; to < size; to++) {
        counts[to] = 1;
        places[to] = 8 * to;
        types[to] = (rank + to) % 2 == 0 ? MPI_DOUBLE : MPI_INT;
    }
    MPI_Alltoallw(out, counts, places, types, in, counts, places, types, MPI_COMM_WORLD);
}

/* What is received is sent on before it is there. */
static void sent_too_early(void)
{
    MPI_Request request;
    MPI_Irecv(in, COUNT, MPI_DOUBLE, rank ^ 1, 0, MPI_COMM_WORLD, &request); /* line UNFINISHED */
    MPI_Sendrecv(in + COUNT - 1, 1, MPI_DOUBLE, rank ^ 1, 1, out, 1, MPI_DOUBLE, rank ^ 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* line EARLY */
    MPI_Send(out, COUNT, MPI_DOUBLE, rank ^ 1, 0, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Two receives into one buffer. */
static void received_twice(void)
{
    MPI_Request requests[4];
    for (int i = 0; i < 2; i++)
        MPI_Irecv(in, 4, MPI_DOUBLE, rank ^ 1, i, MPI_COMM_WORLD, &requests[i]); /* line TWICE */
    for (int i = 0; i < 2; i++)
        MPI_Isend(out, 4, MPI_DOUBLE, rank ^ 1, i, MPI_COMM_WORLD, &requests[2 + i]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

/* Each operation is complete, or has memory of its own, or both only read. */
static void used_in_turn(void)
{
    MPI_Request requests[4];
    int index, count, indices[2], flag = 0;
    for (int i = 0; i < 2; i++)
        MPI_Irecv(in + 4 * i, 4, MPI_DOUBLE, rank ^ 1, 0, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < 2; i++)
        MPI_Isend(out + i, 4, MPI_DOUBLE, rank ^ 1, 0, MPI_COMM_WORLD, &requests[2 + i]);
    MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
    MPI_Sendrecv_replace(in + 4 * index, 4, MPI_DOUBLE, rank ^ 1, 1, rank ^ 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Waitsome(2, requests, &count, indices, MPI_STATUSES_IGNORE);
    MPI_Sendrecv(in, 8, MPI_DOUBLE, rank ^ 1, 2, in + 8, 8, MPI_DOUBLE, rank ^ 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    while (!flag)
        MPI_Testall(2, requests + 2, &flag, MPI_STATUSES_IGNORE);
    MPI_Recv_init(in, 4, MPI_DOUBLE, rank ^ 1, 3, MPI_COMM_WORLD, &requests[0]);
    for (int i = 0; i < 2; i++) {
        MPI_Start(&requests[0]);
        MPI_Send(out, 4, MPI_DOUBLE, rank ^ 1, 3, MPI_COMM_WORLD);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        MPI_Isend(in, 4, MPI_DOUBLE, rank ^ 1, 4, MPI_COMM_WORLD, &requests[1]);
        MPI_Recv(out, 4, MPI_DOUBLE, rank ^ 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&requests[0]);
}

/* Two columns of a matrix lie between each other. */
static void columns(void)
{
    MPI_Request requests[2];
    for (int i = 0; i < 2; i++)
        MPI_Irecv(in + i, 1, column, rank ^ 1, i, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < 2; i++)
        MPI_Send(out + i, 1, column, rank ^ 1, i, MPI_COMM_WORLD);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    /* Resized to as many bytes as it has of data. */
    MPI_Datatype resized;
    MPI_Type_create_resized(column, 0, 2 * sizeof *in, &resized);
    MPI_Type_commit(&resized);
    for (int i = 0; i < 2; i++)
        MPI_Irecv(in + i, 1, resized, rank ^ 1, i, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < 2; i++)
        MPI_Send(out + i, 1, resized, rank ^ 1, i, MPI_COMM_WORLD);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Type_free(&resized);
}

/* The receive is too short, and the program wants to know. */
static void cut_off(void)
{
    MPI_Comm own;
    MPI_Comm_dup(MPI_COMM_WORLD, &own);
    MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);
    if (rank % 2 == 0)
        MPI_Send(out, 8, MPI_DOUBLE, rank + 1, 0, own);
    else
        MPI_Recv(in, 4, MPI_DOUBLE, rank - 1, 0, own, MPI_STATUS_IGNORE); /* line CUT_OFF */
    MPI_Comm_free(&own);
}

/* A receive that was cut off takes its message away: what comes after it fits. */
static void after_a_cut(void)
{
    static MPI_Comm own = MPI_COMM_NULL;
    if (own == MPI_COMM_NULL) {
        MPI_Comm_dup(MPI_COMM_WORLD, &own);
        MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);
    }
    if (rank % 2 == 0) {
        MPI_Send(out, 8, MPI_DOUBLE, rank + 1, 0, own);
        MPI_Send(out, 4, MPI_INT, rank + 1, 0, own);
    } else {
        MPI_Recv(in, 4, MPI_DOUBLE, rank - 1, 0, own, MPI_STATUS_IGNORE); /* line CUT_BEFORE */
        MPI_Recv(in, 4, MPI_INT, rank - 1, 0, own, MPI_STATUS_IGNORE);
    }
}

/* Asked about, the receive is complete, and its request is still there. */
static void asked_about(void)
{
    MPI_Request request;
    int flag = 0;
    MPI_Irecv(in, 4, MPI_DOUBLE, rank ^ 1, 0, MPI_COMM_WORLD, &request);
    MPI_Send(out, 4, MPI_DOUBLE, rank ^ 1, 0, MPI_COMM_WORLD);
    while (!flag)
        MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
    MPI_Sendrecv(in, 4, MPI_DOUBLE, rank ^ 1, 1, out, 4, MPI_DOUBLE, rank ^ 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Two probed messages, of which the second is received first. */
static void probed_in_order(void)
{
    if (rank % 2 == 0) {
        MPI_Send(out, 2, MPI_DOUBLE, rank + 1, 0, MPI_COMM_WORLD);
        MPI_Send(out, 2, MPI_LONG, rank + 1, 0, MPI_COMM_WORLD);
    } else {
        MPI_Message messages[2];
        for (int i = 0; i < 2; i++)
            MPI_Mprobe(rank - 1, 0, MPI_COMM_WORLD, &messages[i], MPI_STATUS_IGNORE);
        MPI_Mrecv(in, 2, MPI_LONG, &messages[1], MPI_STATUS_IGNORE);
        MPI_Mrecv(in, 2, MPI_DOUBLE, &messages[0], MPI_STATUS_IGNORE);
    }
}

static const struct {
    const char *name;
    void (*step)(void);
} ALL[] = {
    {"integers_as_floats", integers_as_floats},
    {"structures_the_other_way_round", structures_the_other_way_round},
    {"the_same_in_other_words", the_same_in_other_words},
    {"posted_types", posted_types},
    {"sums_and_maxima", sums_and_maxima},
    {"reduced_as_integers", reduced_as_integers},
    {"alike", alike},
    {"sent_too_early", sent_too_early},
    {"received_twice", received_twice},
    {"used_in_turn", used_in_turn},
    {"columns", columns},
    {"cut_off", cut_off},
    {"after_a_cut", after_a_cut},
    {"asked_about", asked_about},
    {"probed_in_order", probed_in_order},
};

static void make_types(void)
{
    int lengths[] = {1, 1};
    MPI_Aint places[] = {offsetof(struct both, number), offsetof(struct both, value)};
    MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE}, narrow;
    MPI_Type_create_struct(2, lengths, places, types, &narrow);
    MPI_Type_create_resized(narrow, 0, sizeof(struct both), &both);
    MPI_Type_free(&narrow);
    MPI_Type_commit(&both);
    MPI_Type_vector(2, 1, 4, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    make_types();
    for (size_t place = 0; argc > 1 && place < sizeof ALL / sizeof *ALL; place++)
        if (strcmp(argv[1], ALL[place].name) == 0)
            for (int step = 0; step < STEPS; step++)
                ALL[place].step();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Type_free(&both);
    MPI_Type_free(&column);
    MPI_Finalize();
    return 0;
}
