/* A program that knows nothing of MEL: it lists all performance variables, starts and reads all, and compares the lengths of the queues,
 * after each call that changes them, with what they must be and with what the MPI itself says. Two processes. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether the MPI itself reports on its queues: from the first handle on, and not of bytes. */
static int observed;
static int failures, of_mpi, rank;
static MPI_T_pvar_session session;

#define CHECK(condition, ...) \
    do { \
        if (!(condition)) { \
            printf("rank %d, line %d: ", rank, __LINE__); \
            printf(__VA_ARGS__); \
            printf("\n"); \
            failures++; \
        } \
    } while (0)

struct variable {
    MPI_T_pvar_handle handle;
    int count, is_there, size;
    unsigned char value[4096];
};

static unsigned long sum(struct variable *variable)
{
    unsigned long sum = 0;
    CHECK(MPI_T_pvar_read(session, variable->handle, variable->value) == MPI_SUCCESS, "cannot be read");
    for (int place = 0; place < variable->count; place++) {
        if (variable->size == (int)sizeof(unsigned)) {
            unsigned one;
            memcpy(&one, variable->value + place * sizeof one, sizeof one);
            sum += one;
        } else {
            unsigned long one;
            memcpy(&one, variable->value + place * sizeof one, sizeof one);
            sum += one;
        }
    }
    return sum;
}

/* The variable of this name, bound to the communicator where it is bound to one. */
static struct variable find(const char *wanted, MPI_Comm *comm)
{
    struct variable found = {.is_there = 0};
    int number;
    if (observed && strncmp(wanted, "mel_unexpected_queue_bytes", 26) == 0)
        return found;
    MPI_T_pvar_get_num(&number);
    for (int index = 0; index < number; index++) {
        char name[256] = "", text[1024];
        int length = sizeof name, text_length = sizeof text, verbosity, class, bind, readonly, continuous, atomic;
        MPI_Datatype type;
        MPI_T_enum values;
        if (MPI_T_pvar_get_info(index, name, &length, &verbosity, &class, &type, &values, text, &text_length, &bind, &readonly,
                                &continuous, &atomic) != MPI_SUCCESS
            || strcmp(name, wanted) != 0)
            continue;
        CHECK(MPI_T_pvar_handle_alloc(session, index, bind == MPI_T_BIND_NO_OBJECT ? NULL : comm, &found.handle, &found.count)
                  == MPI_SUCCESS, "%s has no handle", wanted);
        MPI_Type_size(type, &found.size);
        if (!continuous)
            CHECK(MPI_T_pvar_start(session, found.handle) == MPI_SUCCESS, "%s cannot be started", wanted);
        found.is_there = 1;
        return found;
    }
    return found;
}

/* Starts and reads all variables, as a tool does that shows what there is. */
static void read_all(void)
{
    int number, ours = 0;
    MPI_T_pvar_session all;
    MPI_T_pvar_session_create(&all);
    MPI_T_pvar_get_num(&number);
    for (int index = 0; index < number; index++) {
        char name[256] = "", text[2048];
        int length = sizeof name, text_length = sizeof text, verbosity, class, bind, readonly, continuous, atomic, count;
        MPI_Comm comm = MPI_COMM_WORLD;
        MPI_T_pvar_handle handle;
        MPI_Datatype type;
        MPI_T_enum values;
        if (MPI_T_pvar_get_info(index, name, &length, &verbosity, &class, &type, &values, text, &text_length, &bind, &readonly,
                                &continuous, &atomic) != MPI_SUCCESS
            /* Open MPI crashes over these where the interface was initialised before MPI. */
            || strncmp(name, "mtl_psm2", 8) == 0
            || (bind != MPI_T_BIND_NO_OBJECT && bind != MPI_T_BIND_MPI_COMM)
            || MPI_T_pvar_handle_alloc(all, index, &comm, &handle, &count) != MPI_SUCCESS)
            continue;
        char *value = calloc(count + 1, 64);
        if (!continuous)
            MPI_T_pvar_start(all, handle);
        int code = MPI_T_pvar_read(all, handle, value);
        if (strncmp(name, "mel_", 4) == 0) {
            ours++;
            CHECK(code == MPI_SUCCESS, "%s cannot be read", name);
            CHECK(count == 1 && strlen(text) > 20, "%s has no description", name);
            CHECK((class == MPI_T_PVAR_CLASS_LEVEL) == (readonly && continuous), "%s", name);
            if (class == MPI_T_PVAR_CLASS_TIMER)
                CHECK(strstr(text, "nanoseconds") != NULL, "%s has no unit", name);
        }
        free(value);
    }
    MPI_T_pvar_session_free(&all);
    CHECK(ours == (observed ? 12 : 14), "%d variables of ours", ours);
}

static struct variable posted, unexpected, bytes, mpi_posted, mpi_unexpected;

static void expect(int line, unsigned long in_posted, unsigned long in_unexpected, unsigned long in_bytes)
{
    unsigned long is[3] = {sum(&posted), sum(&unexpected), bytes.is_there ? sum(&bytes) : in_bytes};
    CHECK(is[0] == in_posted && is[1] == in_unexpected && is[2] == in_bytes,
          "line %d: posted %lu for %lu, unexpected %lu for %lu, bytes %lu for %lu", line, is[0], in_posted, is[1], in_unexpected, is[2],
          in_bytes);
    if (mpi_posted.is_there)
        CHECK(sum(&mpi_posted) == is[0], "line %d: the MPI has %lu posted, we have %lu", line, sum(&mpi_posted), is[0]);
    if (mpi_unexpected.is_there)
        CHECK(sum(&mpi_unexpected) == is[1], "line %d: the MPI has %lu unexpected, we have %lu", line, sum(&mpi_unexpected), is[1]);
}
#define EXPECT(posted, unexpected, bytes) expect(__LINE__, posted, unexpected, bytes)

static char data[16][256];
enum { GO = 99 };

static void go(MPI_Comm comm, int from)
{
    char none = 0;
    if (rank == from)
        MPI_Send(&none, 0, MPI_CHAR, 1 - rank, GO, comm);
    else
        MPI_Recv(&none, 0, MPI_CHAR, 1 - rank, GO, comm, MPI_STATUS_IGNORE);
}

static struct variable high, searches, time, sent, sent_bytes;

static void make_handles(MPI_Comm comm)
{
    posted = find("mel_posted_queue_length", &comm);
    unexpected = find("mel_unexpected_queue_length", &comm);
    bytes = find("mel_unexpected_queue_bytes", &comm);
    high = find("mel_unexpected_queue_length_high", &comm);
    searches = find("mel_unexpected_searches", &comm);
    time = find("mel_unexpected_search_time", &comm);
    sent = find("mel_messages_sent", &comm);
    sent_bytes = find("mel_bytes_sent", &comm);
    mpi_posted = find("pml_ob1_posted_recvq_length", &comm);
    mpi_unexpected = find("pml_ob1_unexpected_msgq_length", &comm);
    if (!mpi_unexpected.is_there)
        mpi_unexpected = find("unexpected_recvq_length", &comm);
}

int main(int argc, char **argv)
{
    int provided, late = argc > 1 && strcmp(argv[1], "late") == 0;
    MPI_Request requests[16];
    MPI_Comm comm;
    observed = argc > 1 && strcmp(argv[1], "observed") == 0;
    if (!late)
        MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Init(NULL, NULL);
    if (late)
        MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_T_pvar_session_create(&session);
    if (observed)
        make_handles(comm);
    if (rank == 1) {
        for (int tag = 1; tag <= 5; tag++)
            MPI_Send(data[tag], 8 * tag, MPI_CHAR, 0, tag, comm);
    }
    go(comm, 1);
    /* From the middle of the run: five messages are there already. */
    if (!observed)
        make_handles(comm);
    of_mpi = mpi_posted.is_there + mpi_unexpected.is_there;
    if (rank == 0) {
        EXPECT(0, 5, 120);
        for (int tag = 2; tag <= 3; tag++) {
            MPI_Irecv(data[tag], 256, MPI_CHAR, 1, tag, comm, &requests[tag]);
            EXPECT(0, 6 - tag, tag == 2 ? 104 : 80);
        }
        CHECK(sum(&searches) == (observed ? 3 : 2) && sum(&time) > 0, "%lu searches", sum(&searches));
        for (int tag = 10; tag <= 12; tag++) {
            MPI_Irecv(data[tag], 256, MPI_CHAR, 1, tag, comm, &requests[tag]);
            EXPECT(tag - 9, 3, 80);
        }
    }
    go(comm, 0);
    if (rank == 1) {
        for (int tag = 12; tag >= 10; tag -= 2)
            MPI_Send(data[tag], 100, MPI_CHAR, 0, tag, comm);
        MPI_Send(data[7], 7, MPI_CHAR, 0, 7, comm);
        CHECK(sum(&sent) == (observed ? 9 : 3) && sum(&sent_bytes) == (observed ? 327 : 207), "%lu sent, %lu bytes", sum(&sent), sum(&sent_bytes));
    }
    go(comm, 1);
    if (rank == 0) {
        EXPECT(1, 4, 87);
        MPI_Wait(&requests[2], MPI_STATUS_IGNORE);
        MPI_Wait(&requests[3], MPI_STATUS_IGNORE);
        MPI_Wait(&requests[10], MPI_STATUS_IGNORE);
        MPI_Wait(&requests[12], MPI_STATUS_IGNORE);
        EXPECT(1, 4, 87);
        MPI_Recv(data[1], 256, MPI_CHAR, 1, 1, comm, MPI_STATUS_IGNORE);
        EXPECT(1, 3, 79);
        MPI_Cancel(&requests[11]);
        MPI_Wait(&requests[11], MPI_STATUS_IGNORE);
        EXPECT(0, 3, 79);
        MPI_Recv(data[4], 256, MPI_CHAR, 1, 4, comm, MPI_STATUS_IGNORE);
        MPI_Recv(data[5], 256, MPI_CHAR, MPI_ANY_SOURCE, 5, comm, MPI_STATUS_IGNORE);
        MPI_Recv(data[7], 256, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE);
        EXPECT(0, 0, 0);
        CHECK(sum(&high) >= 5 && sum(&high) <= 6, "highest %lu", sum(&high));
        CHECK(MPI_T_pvar_reset(session, high.handle) == MPI_SUCCESS && sum(&high) == 0, "highest %lu after a reset", sum(&high));
        CHECK(MPI_T_pvar_reset(session, posted.handle) != MPI_SUCCESS, "a level cannot be reset");
    }
    read_all();
    /* Counts of a communicator that was freed stay, and a new one begins at nothing. */
    MPI_Comm_free(&comm);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    struct variable anew = find("mel_unexpected_searches", &comm);
    CHECK(sum(&anew) == 0, "%lu searches on a new communicator", sum(&anew));
    MPI_T_pvar_session_free(&session);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    MPI_T_finalize();
    if (rank == 0)
        printf("%d of the MPI's own compared, %d failures\n", of_mpi, failures);
    return failures != 0;
}
