/* What Open MPI's monitoring component counts and MEL does not unless it is asked to: messages and one-sided operations from a process to
 * itself, and operations with MPI_NO_OP; and what MEL counts and the component does not: persistent sends. On two ranks. Prints, for each variable by process, the values of the first variable of that name
 * and of the last, which are the MPI's own, if it has it, and MEL's. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VARIABLES 6
static const char *names[VARIABLES] = {
    "pml_monitoring_messages_count",      "pml_monitoring_messages_size",      "osc_monitoring_messages_sent_count",
    "osc_monitoring_messages_sent_size", "osc_monitoring_messages_recv_count", "osc_monitoring_messages_recv_size",
};

static int rank;
static MPI_T_pvar_session session;

static int last_of(const char *wanted)
{
    int count, found = -1;
    MPI_T_pvar_get_num(&count);
    for (int i = 0; i < count; i++) {
        char name[256] = "";
        int name_len = sizeof name, verbosity, class, bind, readonly, continuous, atomic, no = 0;
        MPI_Datatype type;
        if (MPI_T_pvar_get_info(i, name, &name_len, &verbosity, &class, &type, NULL, NULL, &no, &bind, &readonly,
                                &continuous, &atomic) == MPI_SUCCESS &&
            strcmp(name, wanted) == 0)
            found = i;
    }
    return found;
}

static MPI_T_pvar_handle start(int index)
{
    MPI_T_pvar_handle handle;
    MPI_Comm world = MPI_COMM_WORLD;
    int count;
    if (index < 0 || MPI_T_pvar_handle_alloc(session, index, &world, &handle, &count) != MPI_SUCCESS || count != 2)
        exit(3);
    MPI_T_pvar_start(session, handle);
    return handle;
}

static void show(const char *whose, const char *name, MPI_T_pvar_handle handle, uint64_t before[2])
{
    uint64_t values[2] = {0, 0};
    MPI_T_pvar_read(session, handle, values);
    if (whose)
        printf("%s %d %s %llu %llu\n", whose, rank, name, (unsigned long long)(values[0] - before[0]),
               (unsigned long long)(values[1] - before[1]));
    memcpy(before, values, sizeof values);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int provided, other = 1 - rank, *memory, zero = 0, result = 0;
    char data[64] = "", got[64];
    MPI_Win win;
    MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_pvar_session_create(&session);
    MPI_T_pvar_handle handles[2][VARIABLES];
    static uint64_t before[2][VARIABLES][2];
    for (int v = 0; v < VARIABLES; v++) {
        int first;
        if (MPI_T_pvar_get_index(names[v], MPI_T_PVAR_CLASS_SIZE, &first) != MPI_SUCCESS)
            exit(3);
        handles[0][v] = start(first);
        handles[1][v] = start(last_of(names[v]));
    }
    MPI_Win_lock_all(0, win);
    for (int v = 0; v < VARIABLES; v++)
        for (int whose = 0; whose < 2; whose++)
            show(NULL, names[v], handles[whose][v], before[whose][v]);
    MPI_Request request;
    MPI_Isend(data, 10, MPI_CHAR, rank, 1, MPI_COMM_WORLD, &request);
    MPI_Recv(got, 10, MPI_CHAR, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Sendrecv(data, 3, MPI_CHAR, other, 2, got, 3, MPI_CHAR, other, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Request persistent;
    MPI_Send_init(data, 5, MPI_CHAR, other, 3, MPI_COMM_WORLD, &persistent);
    for (int round = 0; round < 2; round++) {
        if (round == 0)
            MPI_Start(&persistent);
        else
            MPI_Startall(1, &persistent);
        MPI_Recv(got, 5, MPI_CHAR, other, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&persistent, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&persistent);
    MPI_Put(data, 20, MPI_CHAR, rank, 0, 20, MPI_CHAR, win);
    MPI_Fetch_and_op(&zero, &result, MPI_INT, other, 8, MPI_NO_OP, win);
    MPI_Get_accumulate(NULL, 0, MPI_INT, &result, 1, MPI_INT, other, 8, 1, MPI_INT, MPI_NO_OP, win);
    MPI_Win_flush_all(win);
    for (int v = 0; v < VARIABLES; v++)
        for (int whose = 0; whose < 2; whose++)
            show(whose ? "last" : "first", names[v], handles[whose][v], before[whose][v]);
    MPI_Win_unlock_all(win);
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
