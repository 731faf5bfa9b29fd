/* Counts what one part of a program sends, as the example of Open MPI's monitoring component does: a token goes round in a ring while a
 * variable is started. Then the other variables, other communicators, several sessions, and a file for each of two phases. On three
 * ranks or more. Every rank prints "right" at the end, and what is wrong before; there are files phase_1.RANK.prof. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 64
#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            printf("WRONG on rank %d at line %d: %s\n", rank, __LINE__, #condition); \
            wrong = 1; \
        } \
    } while (0)

static int rank, size, wrong;
static MPI_T_pvar_session session;

static int index_of(const char *name, int class)
{
    int index = -1;
    CHECK(MPI_T_pvar_get_index(name, class, &index) == MPI_SUCCESS);
    return index;
}

static MPI_T_pvar_handle alloc(const char *name, int class, void *object, int expected)
{
    MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
    int count = -1;
    CHECK(MPI_T_pvar_handle_alloc(session, index_of(name, class), object, &handle, &count) == MPI_SUCCESS);
    CHECK(count == expected);
    return handle;
}

static uint64_t *values(MPI_T_pvar_handle handle)
{
    static uint64_t read[MOST];
    memset(read, 0xff, sizeof read);
    CHECK(MPI_T_pvar_read(session, handle, read) == MPI_SUCCESS);
    return read;
}

static uint64_t sum(MPI_T_pvar_handle handle, int count)
{
    uint64_t total = 0, *read = values(handle);
    for (int i = 0; i < count; i++)
        total += read[i];
    return total;
}

/* Passes a token round until it is used up; gives how often this process has sent it. */
static int ring(int n, MPI_Comm comm)
{
    int me, others, sent = 0, token = n;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &others);
    int to = (me + 1) % others, from = (me + others - 1) % others;
    MPI_Request request;
    for (int turn = 0; turn < n; turn++) {
        if (me == 0) {
            MPI_Isend(&token, 1, MPI_INT, to, 7, comm, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            sent++;
            MPI_Recv(&token, 1, MPI_INT, from, 7, comm, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(&token, 1, MPI_INT, from, 7, comm, MPI_STATUS_IGNORE);
            MPI_Send(&token, 1, MPI_INT, to, 7, comm);
            sent++;
        }
    }
    return sent;
}

static void a_part_of_the_program(void)
{
    /* The example gives the communicator itself. */
    MPI_T_pvar_handle count = MPI_T_PVAR_HANDLE_NULL;
    int elements = -1, to = (rank + 1) % size;
    int index = index_of("pml_monitoring_messages_count", MPI_T_PVAR_CLASS_SIZE);
    CHECK(MPI_T_pvar_handle_alloc(session, index, (void *)(uintptr_t)MPI_COMM_WORLD, &count, &elements) == MPI_SUCCESS);
    CHECK(elements == size);
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_T_pvar_handle bytes = alloc("pml_monitoring_messages_size", MPI_T_PVAR_CLASS_SIZE, &world, size);
    ring(3, MPI_COMM_WORLD);
    CHECK(sum(count, size) == 0);
    CHECK(MPI_T_pvar_start(session, count) == MPI_SUCCESS && MPI_T_pvar_start(session, bytes) == MPI_SUCCESS);
    uint64_t sent = (uint64_t)ring(25, MPI_COMM_WORLD);
    CHECK(MPI_T_pvar_stop(session, count) == MPI_SUCCESS && MPI_T_pvar_stop(session, bytes) == MPI_SUCCESS);
    ring(3, MPI_COMM_WORLD);
    CHECK(values(count)[to] == sent && sum(count, size) == sent);
    CHECK(values(bytes)[to] == sent * sizeof(int));
    CHECK(values(count)[size] == UINT64_MAX);
    /* And once more: counts go on where they were. */
    CHECK(MPI_T_pvar_start(session, count) == MPI_SUCCESS);
    ring(5, MPI_COMM_WORLD);
    CHECK(values(count)[to] == sent + 5);
    CHECK(MPI_T_pvar_reset(session, count) == MPI_SUCCESS && sum(count, size) == 0);
    uint64_t start[MOST] = { 100 };
    CHECK(MPI_T_pvar_write(session, count, start) == MPI_SUCCESS);
    ring(2, MPI_COMM_WORLD);
    uint64_t read[MOST];
    CHECK(MPI_T_pvar_readreset(session, count, read) == MPI_SUCCESS);
    CHECK(read[to] == (to == 0 ? 102u : 2u) && sum(count, size) == 0);
    CHECK(MPI_T_pvar_handle_free(session, &count) == MPI_SUCCESS && count == MPI_T_PVAR_HANDLE_NULL);
    CHECK(MPI_T_pvar_handle_free(session, &bytes) == MPI_SUCCESS);
}

static void other_communicators(void)
{
    MPI_Comm world = MPI_COMM_WORLD, backwards;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &backwards);
    int me, to;
    MPI_Comm_rank(backwards, &me);
    to = (me + 1) % size;
    MPI_T_pvar_handle on_it = alloc("pml_monitoring_messages_count", MPI_T_PVAR_CLASS_SIZE, &backwards, size);
    MPI_T_pvar_handle on_all = alloc("pml_monitoring_messages_count", MPI_T_PVAR_CLASS_SIZE, &world, size);
    CHECK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES) == MPI_SUCCESS);
    ring(4, MPI_COMM_WORLD);
    ring(6, backwards);
    /* To itself nothing is sent. */
    int number = 1, got;
    MPI_Sendrecv(&number, 1, MPI_INT, me, 1, &got, 1, MPI_INT, me, 1, backwards, MPI_STATUS_IGNORE);
    CHECK(MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES) == MPI_SUCCESS);
    CHECK(values(on_it)[to] == 6 && sum(on_it, size) == 6);
    /* The next one of the reversed order is the one before. */
    CHECK(sum(on_all, size) == 10 && values(on_all)[(rank + size - 1) % size] == 6);
    MPI_Comm_free(&backwards);
    CHECK(sum(on_it, size) == 6);
    CHECK(MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES) == MPI_SUCCESS);
    CHECK(sum(on_it, size) == 0 && sum(on_all, size) == 0);
    CHECK(MPI_T_pvar_handle_free(session, &on_it) == MPI_SUCCESS && MPI_T_pvar_handle_free(session, &on_all) == MPI_SUCCESS);
}

static void collective_operations(void)
{
    MPI_Comm world = MPI_COMM_WORLD;
    const char *names[] = { "coll_monitoring_o2a_count", "coll_monitoring_o2a_size", "coll_monitoring_a2o_count",
                            "coll_monitoring_a2o_size", "coll_monitoring_a2a_count", "coll_monitoring_a2a_size" };
    MPI_T_pvar_handle shapes[6];
    for (int i = 0; i < 6; i++)
        shapes[i] = alloc(names[i], i % 2 ? MPI_T_PVAR_CLASS_AGGREGATE : MPI_T_PVAR_CLASS_COUNTER, &world, 1);
    MPI_T_pvar_handle bytes = alloc("coll_monitoring_messages_size", MPI_T_PVAR_CLASS_SIZE, &world, size);
    CHECK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES) == MPI_SUCCESS);
    double data[MOST] = { 0 }, all[MOST];
    for (int i = 0; i < 3; i++)
        MPI_Bcast(data, 2, MPI_DOUBLE, 1, MPI_COMM_WORLD);
    MPI_Reduce(data, all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Gather(data, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Allreduce(data, all, 4, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES) == MPI_SUCCESS);
    uint64_t others = (uint64_t)size - 1;
    uint64_t expected[] = { rank == 1 ? 3 : 0, rank == 1 ? 3 * 16 * others : 0, rank == 0 ? 2 : 0, rank == 0 ? 2 * 8 * others : 0,
                            2, 32 * others };
    for (int i = 0; i < 6; i++)
        CHECK(values(shapes[i])[0] == expected[i]);
    for (int to = 0; to < size; to++) {
        uint64_t to_it = 32 + (rank == 1 ? 48 : 0) + (to == 0 ? 16 : 0);
        CHECK(values(bytes)[to] == (to == rank ? 0 : to_it));
    }
    for (int i = 0; i < 6; i++)
        CHECK(MPI_T_pvar_handle_free(session, &shapes[i]) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_handle_free(session, &bytes) == MPI_SUCCESS);
}

static void windows(void)
{
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Win win;
    int memory[4] = { 0 }, data[4] = { 0 }, to = (rank + 1) % size;
    MPI_T_pvar_handle sent = alloc("osc_monitoring_messages_sent_size", MPI_T_PVAR_CLASS_SIZE, &world, size);
    MPI_T_pvar_handle got = alloc("osc_monitoring_messages_recv_count", MPI_T_PVAR_CLASS_SIZE, &world, size);
    CHECK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES) == MPI_SUCCESS);
    MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    MPI_Put(data, 4, MPI_INT, to, 0, 4, MPI_INT, win);
    MPI_Win_fence(0, win);
    MPI_Get(data, 1, MPI_INT, to, 0, 1, MPI_INT, win);
    MPI_Get(data, 1, MPI_INT, to, 1, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
    CHECK(values(sent)[to] == 16 && sum(sent, size) == 16);
    CHECK(values(got)[to] == 2 && sum(got, size) == 2);
    CHECK(MPI_T_pvar_handle_free(session, &sent) == MPI_SUCCESS && MPI_T_pvar_handle_free(session, &got) == MPI_SUCCESS);
}

static void what_is_refused(void)
{
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_T_pvar_session other, none;
    MPI_T_pvar_handle handle = alloc("pml_monitoring_messages_count", MPI_T_PVAR_CLASS_SIZE, &world, size), stale = handle;
    uint64_t read[MOST];
    int index = -1, count, number;
    CHECK(MPI_T_pvar_session_create(&other) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_start(other, MPI_T_PVAR_ALL_HANDLES) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_start(other, handle) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_pvar_read(session, MPI_T_PVAR_ALL_HANDLES, read) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_pvar_handle_free(session, &stale) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_read(session, handle, read) == MPI_T_ERR_INVALID_HANDLE);
    none = other;
    CHECK(MPI_T_pvar_session_free(&other) == MPI_SUCCESS && other == MPI_T_PVAR_SESSION_NULL);
    CHECK(MPI_T_pvar_start(none, MPI_T_PVAR_ALL_HANDLES) == MPI_T_ERR_INVALID_SESSION);
    CHECK(MPI_T_pvar_get_index("no such variable", MPI_T_PVAR_CLASS_SIZE, &index) == MPI_T_ERR_INVALID_NAME);
    MPI_T_pvar_get_num(&number);
    CHECK(MPI_T_pvar_handle_alloc(session, number, NULL, &handle, &count) == MPI_T_ERR_INVALID_INDEX);
    index = index_of("pml_monitoring_messages_count", MPI_T_PVAR_CLASS_SIZE);
    CHECK(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count) == MPI_T_ERR_INVALID_HANDLE);
    /* Two sessions do not disturb each other. */
    MPI_T_pvar_handle mine = alloc("pml_monitoring_messages_count", MPI_T_PVAR_CLASS_SIZE, &world, size), theirs;
    CHECK(MPI_T_pvar_session_create(&other) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_handle_alloc(other, index, &world, &theirs, &count) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_start(session, mine) == MPI_SUCCESS);
    ring(2, MPI_COMM_WORLD);
    CHECK(MPI_T_pvar_start(other, theirs) == MPI_SUCCESS);
    ring(2, MPI_COMM_WORLD);
    CHECK(MPI_T_pvar_stop(session, mine) == MPI_SUCCESS && sum(mine, size) == 4);
    ring(2, MPI_COMM_WORLD);
    CHECK(MPI_T_pvar_read(other, theirs, read) == MPI_SUCCESS && read[(rank + 1) % size] == 4);
    CHECK(MPI_T_pvar_session_free(&other) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_handle_free(session, &mine) == MPI_SUCCESS);
}

static void phases(void)
{
    static const void *nothing = NULL;
    MPI_T_pvar_handle flush = MPI_T_PVAR_HANDLE_NULL;
    char filename[] = "phase_1";
    int count = -1;
    int index = index_of("pml_monitoring_flush", MPI_T_PVAR_CLASS_GENERIC);
    CHECK(MPI_T_pvar_handle_alloc(session, index, (void *)(uintptr_t)MPI_COMM_WORLD, &flush, &count) == MPI_SUCCESS);
    CHECK(count == 0);
    CHECK(MPI_T_pvar_start(session, flush) == MPI_SUCCESS);
    ring(9, MPI_COMM_WORLD);
    CHECK(MPI_T_pvar_write(session, flush, filename) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_stop(session, flush) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_start(session, flush) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_write(session, flush, (void *)&nothing) == MPI_SUCCESS);
    ring(9, MPI_COMM_WORLD);
    CHECK(MPI_T_pvar_stop(session, flush) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_handle_free(session, &flush) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    CHECK(MPI_T_pvar_session_create(&session) == MPI_SUCCESS);
    a_part_of_the_program();
    other_communicators();
    collective_operations();
    windows();
    what_is_refused();
    phases();
    CHECK(MPI_T_pvar_session_free(&session) == MPI_SUCCESS);
    if (!wrong)
        printf("right\n");
    MPI_Finalize();
    return wrong;
}
