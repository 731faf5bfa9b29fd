/* Makes and frees things of one kind, 10 010 of them, or names phases, or calls from ever new places. Under callgrind, instructions of
 * the 100th to 109th and of the 10 000th to 10 009th are counted apart, as the dumps `KIND 100` and `KIND 10000`; nothing else is
 * counted. Every tenth thing stays until the end, up to KEPT of them, so that what grows with those that are there is seen, too.
 *
 * arguments: a folder for files, and the kinds
 */
#define _DEFAULT_SOURCE

#include <sys/mman.h>
#include <valgrind/callgrind.h>

#include "../check.h"
#include "../../../include/mel.h"

enum { FIRST = 100, LAST = 10000, EACH = 10, KEPT = 500 };

union thing {
    MPI_Comm comm;
    MPI_Win win;
    MPI_Datatype type;
    MPI_Request request;
    MPI_File file;
};

static const char *folder;
static int memory[4];

static void make_communicator(union thing *it, int i)
{
    (void)i;
    MPI_Comm_dup(MPI_COMM_SELF, &it->comm);
}

static void make_part(union thing *it, int i)
{
    MPI_Comm_split(MPI_COMM_WORLD, i, 0, &it->comm);
}

static void make_grid(union thing *it, int i)
{
    int dims[2] = {1, 1}, periods[2] = {i % 2, 1};
    MPI_Cart_create(MPI_COMM_SELF, 2, dims, periods, 0, &it->comm);
}

static void make_graph(union thing *it, int i)
{
    int self = 0;
    (void)i;
    MPI_Dist_graph_create_adjacent(MPI_COMM_SELF, 1, &self, MPI_UNWEIGHTED, 1, &self, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &it->comm);
}

static void free_communicator(union thing *it)
{
    MPI_Comm_free(&it->comm);
}

static void make_window(union thing *it, int i)
{
    void *base;
    (void)i;
    MPI_Win_allocate(sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_SELF, &base, &it->win);
}

static void free_window(union thing *it)
{
    MPI_Win_free(&it->win);
}

static void make_type(union thing *it, int i)
{
    int data[64] = {0}, got[64];
    MPI_Type_contiguous(1 + i % 4, MPI_INT, &it->type);
    MPI_Type_commit(&it->type);
    MPI_Sendrecv(data, 1, it->type, 0, 0, got, 1, it->type, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
}

static void free_type(union thing *it)
{
    MPI_Type_free(&it->type);
}

static void make_request(union thing *it, int i)
{
    int got;
    MPI_Send_init(&memory, 1, MPI_INT, 0, 1 + i % 7, MPI_COMM_SELF, &it->request);
    MPI_Start(&it->request);
    MPI_Recv(&got, 1, MPI_INT, 0, 1 + i % 7, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    MPI_Wait(&it->request, MPI_STATUS_IGNORE);
}

static void make_receive(union thing *it, int i)
{
    MPI_Recv_init(&memory, 1, MPI_INT, 0, i % 7, MPI_COMM_SELF, &it->request);
}

static void free_request(union thing *it)
{
    MPI_Request_free(&it->request);
}

/* An MPI may have been built without files. */
#ifdef MPI_MODE_RDWR
static void make_file(union thing *it, int i)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/file", folder);
    (void)i;
    MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &it->file);
}

static void free_file(union thing *it)
{
    MPI_File_close(&it->file);
}
#endif

static void name_phase(union thing *it, int i)
{
    char name[32];
    (void)it;
    snprintf(name, sizeof name, "phase %d", i);
    mel_phase(name);
}

/* Calls that have each a return address of its own, ten in a function; and machine code that is in no module. */
#define CALL MPI_Comm_size(MPI_COMM_SELF, &size);
#define CALLS CALL CALL CALL CALL CALL CALL CALL CALL CALL CALL
#define FUNCTION(n)                                                                                                                \
    static void calls_##n(void)                                                                                                    \
    {                                                                                                                              \
        int size;                                                                                                                  \
        CALLS                                                                                                                      \
    }
#define TEN(what, n) what(n##0) what(n##1) what(n##2) what(n##3) what(n##4) what(n##5) what(n##6) what(n##7) what(n##8) what(n##9)
#define HUNDRED(what, n)                                                                                                           \
    TEN(what, n##0) TEN(what, n##1) TEN(what, n##2) TEN(what, n##3) TEN(what, n##4)                                                \
    TEN(what, n##5) TEN(what, n##6) TEN(what, n##7) TEN(what, n##8) TEN(what, n##9)
#define THOUSAND(what)                                                                                                             \
    HUNDRED(what, 0) HUNDRED(what, 1) HUNDRED(what, 2) HUNDRED(what, 3) HUNDRED(what, 4)                                           \
    HUNDRED(what, 5) HUNDRED(what, 6) HUNDRED(what, 7) HUNDRED(what, 8) HUNDRED(what, 9)
#define NAME(n) calls_##n,
THOUSAND(FUNCTION)
TEN(FUNCTION, x)
static void (*const functions[])(void) = {THOUSAND(NAME) TEN(NAME, x)};

/* Ten calls each time: those of a function that has not run before. */
static void call_from_a_new_place(union thing *it, int i)
{
    (void)it;
    if (i % EACH == 0)
        functions[i / EACH]();
}

typedef int size_of(MPI_Comm, int *);

/* Machine code as a just-in-time compiler makes it: a function that calls MPI_Comm_size. */
static void call_from_new_code(union thing *it, int i)
{
#if defined(__x86_64__)
    static const unsigned char code[] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0x48, 0x83, 0xec, 0x08, 0xff, 0xd0, 0x48, 0x83, 0xc4, 0x08, 0xc3};
    enum { AT = 2 };
#elif defined(__aarch64__)
    static const unsigned char code[] = {0xfd, 0x7b, 0xbf, 0xa9, 0x90, 0x00, 0x00, 0x58, 0x00, 0x02, 0x3f, 0xd6, 0xfd, 0x7b,
                                         0xc1, 0xa8, 0xc0, 0x03, 0x5f, 0xd6, 0x00, 0x00, 0x00, 0x00, 0,    0,    0,    0,
                                         0,    0,    0,    0};
    enum { AT = 24 };
#else
#error "machine code of another processor is missing here"
#endif
    enum { ROOM = 64 };
    static char *all;
    size_of *ask = MPI_Comm_size;
    int size;
    (void)it;
    if (!all)
        all = mmap(NULL, (LAST + EACH) * ROOM, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(all != MAP_FAILED);
    char *here = all + (size_t)i * ROOM;
    memcpy(here, code, sizeof code);
    memcpy(here + AT, &ask, sizeof ask);
    __builtin___clear_cache(here, here + ROOM);
    size_of *made;
    memcpy(&made, &here, sizeof made);
    made(MPI_COMM_SELF, &size);
}

static const struct kind {
    const char *name;
    void (*make)(union thing *, int);
    void (*free)(union thing *);
} kinds[] = {
    {"communicator", make_communicator, free_communicator},
    {"part", make_part, free_communicator},
    {"grid", make_grid, free_communicator},
    {"graph", make_graph, free_communicator},
    {"window", make_window, free_window},
    {"datatype", make_type, free_type},
    {"request", make_request, free_request},
    {"receive", make_receive, free_request},
#ifdef MPI_MODE_RDWR
    {"file", make_file, free_file},
#endif
    {"phase", name_phase, NULL},
    {"call site", call_from_a_new_place, NULL},
    {"new code", call_from_new_code, NULL},
};

static void measure(const struct kind *kind)
{
    static union thing kept[KEPT];
    int keeps = 0;
    for (int i = 0; i < LAST + EACH; i++) {
        if (i == FIRST || i == LAST) {
            CALLGRIND_START_INSTRUMENTATION;
            CALLGRIND_ZERO_STATS;
        }
        union thing it;
        kind->make(&it, i);
        if (kind->free && i % EACH == EACH - 1 && keeps < KEPT)
            kept[keeps++] = it;
        else if (kind->free)
            kind->free(&it);
        if (i == FIRST + EACH - 1 || i == LAST + EACH - 1) {
            char name[64];
            snprintf(name, sizeof name, "%s %d", kind->name, i + 1 - EACH);
            CALLGRIND_DUMP_STATS_AT(name);
            CALLGRIND_STOP_INSTRUMENTATION;
        }
    }
    while (keeps > 0)
        kind->free(&kept[--keeps]);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    REQUIRE(argc > 1);
    folder = argv[1];
    int measured = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (int wanted = 2; wanted < argc; wanted++)
            if (!strcmp(argv[wanted], kinds[i].name)) {
                measure(&kinds[i]);
                measured++;
            }
    MPI_Finalize();
    printf("%d kinds\nOK\n", measured);
    return 0;
}
