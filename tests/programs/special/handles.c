/* Passes each handle argument of many functions as good, predefined, null and freed, with and without elements, and prints what
 * comes back: success or the class of the error, and which error handlers were called. On one rank. It also makes calls that look
 * at no handle where others do: of no elements, in place, with MPI_NO_OP.
 *
 * What is freed is still in use by a receive, so that MPI works with it. What is gone as well, MPICH
 * notices, and Open MPI does not.
 *
 *   handles                       all cases; the errors on each object are counted and returned
 *   handles CASE                  this one, with the error handlers that MPI has at first
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { TAG = 5, NEVER = 6, ELEMENTS = 16 };

#ifdef OPEN_MPI
enum { NOTICES_GONE = 0 };
#else
enum { NOTICES_GONE = 1 };
#endif

/* The handles of a call. */
typedef struct {
    MPI_Comm comm;
    MPI_Datatype type;
    MPI_Group group;
    MPI_Win win;
    MPI_Op op;
    MPI_Info info;
    MPI_Errhandler handler;
    MPI_Message message;
    MPI_File file;
    int count;
} Handles;

static Handles good, predefined, freed, gone;
static MPI_Comm grid;
static int from[ELEMENTS], into[ELEMENTS], *window;
static int counts[2], zeros[2];
static char text[256];
static int length, flag, number;

/* Error handlers that count. */
static int on_world, on_self, on_others, on_windows;

static void comm_error(MPI_Comm *comm, int *code, ...)
{
    (void)code;
    ++*(*comm == MPI_COMM_WORLD ? &on_world : *comm == MPI_COMM_SELF ? &on_self : &on_others);
}

static void win_error(MPI_Win *win, int *code, ...)
{
    (void)win, (void)code;
    on_windows++;
}

/* Whether a call has failed. MPICH 5 returns MPI_SUCCESS where the program's error handler does not end it. */
static int failed(int it)
{
    return it != MPI_SUCCESS || on_world + on_self + on_others + on_windows;
}

/* A message from this rank to itself: the other side of the call, where there may be one. */
static MPI_Request other = MPI_REQUEST_NULL;

static int has_messages(MPI_Comm comm)
{
    return comm == good.comm || comm == predefined.comm || comm == freed.comm;
}

static void receive_from_self(MPI_Comm comm)
{
    if (has_messages(comm))
        MPI_Irecv(into, ELEMENTS, MPI_INT, 0, TAG, comm, &other);
}

static void send_to_self(MPI_Comm comm)
{
    if (has_messages(comm))
        MPI_Isend(from, 0, MPI_INT, 0, TAG, comm, &other);
}

/* Ends the other side: `it` was refused where it is an error. */
static int ended(int it)
{
    MPI_Status status;
    if (other != MPI_REQUEST_NULL) {
        if (failed(it))
            MPI_Cancel(&other);
        MPI_Wait(&other, &status);
    }
    other = MPI_REQUEST_NULL;
    return it;
}

/* The same of a send that nobody has received. */
static int taken(int it, MPI_Comm comm)
{
    if (failed(it) && other != MPI_REQUEST_NULL)
        MPI_Recv(into, ELEMENTS, MPI_INT, 0, TAG, comm, MPI_STATUS_IGNORE);
    return ended(it);
}

static int complete(int it, MPI_Request *request)
{
    if (!failed(it) && *request != MPI_REQUEST_NULL)
        MPI_Wait(request, MPI_STATUS_IGNORE);
    return it;
}

static int persistent(int it, MPI_Request *request)
{
    if (failed(it))
        return it;
    it = MPI_Start(request);
    complete(it, request);
    MPI_Request_free(request);
    return it;
}

static int of_comm(int it, MPI_Comm *made)
{
    if (!failed(it) && *made != MPI_COMM_NULL)
        MPI_Comm_free(made);
    return it;
}

static int of_type(int it, MPI_Datatype *made)
{
    if (!failed(it))
        MPI_Type_free(made);
    return it;
}

static int of_group(int it, MPI_Group *made)
{
    if (!failed(it) && *made != MPI_GROUP_EMPTY)
        MPI_Group_free(made);
    return it;
}

static int of_win(int it, MPI_Win *made)
{
    if (!failed(it))
        MPI_Win_free(made);
    return it;
}

static int of_info(int it, MPI_Info *made)
{
    if (!failed(it))
        MPI_Info_free(made);
    return it;
}

static int printed(int it, long value)
{
    if (!failed(it))
        printf(" %ld", value);
    return it;
}

/* An operation on the window, in an epoch of the good one. */
static int in_epoch(int it)
{
    MPI_Win_flush_all(good.win);
    return it;
}

static int with_request(int it, MPI_Request *request)
{
    return in_epoch(complete(it, request));
}

/* MPICH 5 aborts for a reduction of no datatype, whatever its error handlers are. */
#if defined(OPEN_MPI) || defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 50000000
#define REDUCED "t"
#else
#define REDUCED "T"
#endif

#define COUNT h->count
#define TYPE h->type
#define COMM h->comm

#ifdef MPI_MODE_RDONLY
#define FILES(C) \
    C("tf", 1, file_write, MPI_File_write_at(h->file, 0, from, COUNT, TYPE, &s)) \
    C("tf", 1, file_read, MPI_File_read_at(h->file, 0, into, COUNT, TYPE, &s)) \
    C("Ci", 0, file_open, MPI_File_open(COMM, "/does/not/exist", MPI_MODE_RDONLY, h->info, &f)) \
    C("ti", 0, file_set_view, MPI_File_set_view(good.file, 0, TYPE, TYPE, "native", h->info))
#else
/* An MPI that is built without files, and one by the standard ABI, which crashes without a file. */
#define FILES(C)
#endif

/* Each line: which handles are passed, whether there are counts, a name, and the call. */
#define CASES(C) \
    C("ct", 1, send, (receive_from_self(COMM), ended(MPI_Send(from, COUNT, TYPE, 0, TAG, COMM)))) \
    C("ct", 1, ssend, (receive_from_self(COMM), ended(MPI_Ssend(from, COUNT, TYPE, 0, TAG, COMM)))) \
    C("ct", 1, rsend, (receive_from_self(COMM), ended(MPI_Rsend(from, COUNT, TYPE, 0, TAG, COMM)))) \
    C("ct", 1, bsend, (receive_from_self(COMM), ended(MPI_Bsend(from, COUNT, TYPE, 0, TAG, COMM)))) \
    C("ct", 1, isend, (receive_from_self(COMM), ended(complete(MPI_Isend(from, COUNT, TYPE, 0, TAG, COMM, &r), &r)))) \
    C("ct", 1, issend, (receive_from_self(COMM), ended(complete(MPI_Issend(from, COUNT, TYPE, 0, TAG, COMM, &r), &r)))) \
    C("ct", 1, send_init, (receive_from_self(COMM), ended(persistent(MPI_Send_init(from, COUNT, TYPE, 0, TAG, COMM, &r), &r)))) \
    C("ct", 1, send_to_none, MPI_Send(from, COUNT, TYPE, MPI_PROC_NULL, TAG, COMM)) \
    C("ct", 1, recv, (send_to_self(COMM), taken(MPI_Recv(into, COUNT, TYPE, 0, TAG, COMM, &s), COMM))) \
    C("ct", 1, irecv, (send_to_self(COMM), taken(complete(MPI_Irecv(into, COUNT, TYPE, 0, TAG, COMM, &r), &r), COMM))) \
    C("ct", 1, recv_init, (send_to_self(COMM), taken(persistent(MPI_Recv_init(into, COUNT, TYPE, 0, TAG, COMM, &r), &r), COMM))) \
    C("ct", 1, recv_from_none, MPI_Recv(into, COUNT, TYPE, MPI_PROC_NULL, TAG, COMM, &s)) \
    C("ct", 1, sendrecv, MPI_Sendrecv(from, COUNT, TYPE, 0, TAG, into, ELEMENTS, MPI_INT, 0, TAG, COMM, &s)) \
    C("ct", 1, sendrecv_replace, MPI_Sendrecv_replace(into, COUNT, TYPE, 0, TAG, 0, TAG, COMM, &s)) \
    C("C", 0, iprobe, MPI_Iprobe(0, TAG, COMM, &flag, &s)) \
    C("C", 0, improbe, MPI_Improbe(0, TAG, COMM, &flag, &m, &s)) \
    C("", 1, mrecv, MPI_Mrecv(into, COUNT, TYPE, &h->message, &s)) \
    C("t", 0, get_count, printed((MPI_Recv(into, 1, MPI_INT, MPI_PROC_NULL, TAG, good.comm, &s), MPI_Get_count(&s, TYPE, &number)), number)) \
    C("c", 0, barrier, MPI_Barrier(COMM)) \
    C("c", 0, ibarrier, complete(MPI_Ibarrier(COMM, &r), &r)) \
    C("ct", 1, bcast, MPI_Bcast(into, COUNT, TYPE, 0, COMM)) \
    C("ct", 1, ibcast, complete(MPI_Ibcast(into, COUNT, TYPE, 0, COMM, &r), &r)) \
    C("ct", 1, gather_sent, MPI_Gather(from, COUNT, TYPE, into, COUNT, MPI_INT, 0, COMM)) \
    C("ct", 1, gather_received, MPI_Gather(from, COUNT, MPI_INT, into, COUNT, TYPE, 0, COMM)) \
    C("t", 1, gather_in_place, MPI_Gather(MPI_IN_PLACE, COUNT, TYPE, into, 1, MPI_INT, 0, good.comm)) \
    C("ct", 1, gatherv, MPI_Gatherv(from, COUNT, MPI_INT, into, (counts[0] = COUNT, counts), zeros, TYPE, 0, COMM)) \
    C("ct", 1, scatter_sent, MPI_Scatter(from, COUNT, TYPE, into, COUNT, MPI_INT, 0, COMM)) \
    C("ct", 1, scatter_received, MPI_Scatter(from, COUNT, MPI_INT, into, COUNT, TYPE, 0, COMM)) \
    C("t", 1, scatter_in_place, MPI_Scatter(from, 1, MPI_INT, MPI_IN_PLACE, COUNT, TYPE, 0, good.comm)) \
    C("ct", 1, scatterv, MPI_Scatterv(from, (counts[0] = COUNT, counts), zeros, TYPE, into, COUNT, MPI_INT, 0, COMM)) \
    C("Ct", 1, allgather_sent, MPI_Allgather(from, COUNT, TYPE, into, COUNT, MPI_INT, COMM)) \
    C("Ct", 1, allgather_received, MPI_Allgather(from, COUNT, MPI_INT, into, COUNT, TYPE, COMM)) \
    C("t", 1, allgather_in_place, MPI_Allgather(MPI_IN_PLACE, COUNT, TYPE, into, 1, MPI_INT, good.comm)) \
    C("ct", 1, allgatherv, MPI_Allgatherv(from, COUNT, MPI_INT, into, (counts[0] = COUNT, counts), zeros, TYPE, COMM)) \
    C("ct", 1, alltoall_sent, MPI_Alltoall(from, COUNT, TYPE, into, COUNT, MPI_INT, COMM)) \
    C("ct", 1, alltoall_received, MPI_Alltoall(from, COUNT, MPI_INT, into, COUNT, TYPE, COMM)) \
    C("t", 1, alltoall_in_place, MPI_Alltoall(MPI_IN_PLACE, COUNT, TYPE, into, 1, MPI_INT, good.comm)) \
    C("ct", 1, alltoallv, (counts[0] = COUNT, MPI_Alltoallv(from, counts, zeros, TYPE, into, counts, zeros, MPI_INT, COMM))) \
    C("ct", 1, alltoallw, (counts[0] = COUNT, MPI_Alltoallw(from, counts, zeros, &TYPE, into, counts, zeros, &TYPE, COMM))) \
    C("c" REDUCED "o", 1, reduce, MPI_Reduce(from, into, COUNT, TYPE, h->op, 0, COMM)) \
    C("c" REDUCED "o", 1, allreduce, MPI_Allreduce(from, into, COUNT, TYPE, h->op, COMM)) \
    C("c" REDUCED "o", 1, iallreduce, complete(MPI_Iallreduce(from, into, COUNT, TYPE, h->op, COMM, &r), &r)) \
    C("c" REDUCED "o", 1, reduce_scatter, (counts[0] = COUNT, MPI_Reduce_scatter(from, into, counts, TYPE, h->op, COMM))) \
    C("c" REDUCED "o", 1, reduce_scatter_block, MPI_Reduce_scatter_block(from, into, COUNT, TYPE, h->op, COMM)) \
    C("c" REDUCED "o", 1, scan, MPI_Scan(from, into, COUNT, TYPE, h->op, COMM)) \
    C("c" REDUCED "o", 1, exscan, MPI_Exscan(from, into, COUNT, TYPE, h->op, COMM)) \
    C(REDUCED "o", 1, reduce_local, MPI_Reduce_local(from, into, COUNT, TYPE, h->op)) \
    C("t", 1, neighbor_allgather, MPI_Neighbor_allgather(from, COUNT, TYPE, into, COUNT, TYPE, grid)) \
    C("ct", 1, neighbor_without, MPI_Neighbor_alltoall(from, COUNT, TYPE, into, COUNT, TYPE, COMM)) \
    C("tw", 1, put, in_epoch(MPI_Put(from, COUNT, TYPE, 0, 0, COUNT, MPI_INT, h->win))) \
    C("Tw", 1, put_target, in_epoch(MPI_Put(from, COUNT, MPI_INT, 0, 0, COUNT, TYPE, h->win))) \
    C("tw", 1, put_to_none, in_epoch(MPI_Put(from, COUNT, TYPE, MPI_PROC_NULL, 0, COUNT, TYPE, h->win))) \
    C("tw", 1, rput, with_request(MPI_Rput(from, COUNT, TYPE, 0, 0, COUNT, TYPE, h->win, &r), &r)) \
    C("tw", 1, get, in_epoch(MPI_Get(into, COUNT, TYPE, 0, 0, COUNT, MPI_INT, h->win))) \
    C("tw", 1, rget, with_request(MPI_Rget(into, COUNT, TYPE, 0, 0, COUNT, TYPE, h->win, &r), &r)) \
    C("tow", 1, accumulate, in_epoch(MPI_Accumulate(from, COUNT, TYPE, 0, 0, COUNT, MPI_INT, h->op, h->win))) \
    C("tow", 1, get_accumulate, in_epoch(MPI_Get_accumulate(from, COUNT, TYPE, into, COUNT, MPI_INT, 0, 0, COUNT, MPI_INT, h->op, h->win))) \
    C("tw", 1, get_accumulate_no_op, in_epoch(MPI_Get_accumulate(NULL, COUNT, TYPE, into, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_NO_OP, h->win))) \
    C("tw", 1, rget_accumulate_no_op, with_request(MPI_Rget_accumulate(NULL, COUNT, TYPE, into, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_NO_OP, h->win, &r), &r)) \
    C("tw", 0, fetch_and_op, in_epoch(MPI_Fetch_and_op(from, into, TYPE, 0, 0, MPI_SUM, h->win))) \
    C("tw", 0, fetch_and_op_no_op, in_epoch(MPI_Fetch_and_op(NULL, into, TYPE, 0, 0, MPI_NO_OP, h->win))) \
    C("tw", 0, compare_and_swap, in_epoch(MPI_Compare_and_swap(from, from, into, TYPE, 0, 0, h->win))) \
    C("w", 0, win_flush, MPI_Win_flush(0, h->win)) \
    C("w", 0, win_sync, MPI_Win_sync(h->win)) \
    C("w", 0, win_get_group, of_group(MPI_Win_get_group(h->win, &g), &g)) \
    C("w", 0, win_set_name, MPI_Win_set_name(h->win, "window")) \
    C("w", 0, win_get_name, MPI_Win_get_name(h->win, text, &length)) \
    C("ci", 0, win_create, of_win(MPI_Win_create(into, sizeof into, 1, h->info, COMM, &w), &w)) \
    C("ci", 0, win_allocate, of_win(MPI_Win_allocate(64, 1, h->info, COMM, &memory, &w), &w)) \
    C("c", 0, comm_rank, printed(MPI_Comm_rank(COMM, &number), number)) \
    C("c", 0, comm_size, printed(MPI_Comm_size(COMM, &number), number)) \
    C("c", 0, comm_remote_size, MPI_Comm_remote_size(COMM, &number)) \
    C("c", 0, comm_test_inter, printed(MPI_Comm_test_inter(COMM, &flag), flag)) \
    C("c", 0, comm_group, of_group(MPI_Comm_group(COMM, &g), &g)) \
    C("c", 0, comm_compare, printed(MPI_Comm_compare(good.comm, COMM, &number), number)) \
    C("c", 0, comm_set_name, MPI_Comm_set_name(COMM, "named")) \
    C("c", 0, comm_get_name, MPI_Comm_get_name(COMM, text, &length)) \
    C("c", 0, comm_dup, of_comm(MPI_Comm_dup(COMM, &c), &c)) \
    C("c", 0, comm_idup, of_comm(complete(MPI_Comm_idup(COMM, &c, &r), &r), &c)) \
    C("ci", 0, comm_dup_with_info, of_comm(MPI_Comm_dup_with_info(COMM, h->info, &c), &c)) \
    C("c", 0, comm_split, of_comm(MPI_Comm_split(COMM, 1, 0, &c), &c)) \
    C("c", 0, comm_split_out, of_comm(MPI_Comm_split(COMM, MPI_UNDEFINED, 0, &c), &c)) \
    C("cg", 0, comm_create, of_comm(MPI_Comm_create(COMM, h->group, &c), &c)) \
    C("cg", 0, comm_create_group, of_comm(MPI_Comm_create_group(COMM, h->group, TAG, &c), &c)) \
    C("ce", 0, comm_set_errhandler, MPI_Comm_set_errhandler(COMM, h->handler)) \
    C("cg", 0, group_of_world, MPI_Group_translate_ranks(h->group, 1, zeros, good.group, &number)) \
    C("g", 0, group_size, printed(MPI_Group_size(h->group, &number), number)) \
    C("g", 0, group_rank, printed(MPI_Group_rank(h->group, &number), number)) \
    C("g", 0, group_union, of_group(MPI_Group_union(h->group, good.group, &g), &g)) \
    C("g", 0, group_incl, of_group(MPI_Group_incl(h->group, 0, zeros, &g), &g)) \
    C("c", 0, cart_create, of_comm(MPI_Cart_create(COMM, 1, one, zeros, 0, &c), &c)) \
    C("c", 0, graph_create, of_comm(MPI_Graph_create(COMM, 1, zeros, zeros, 0, &c), &c)) \
    C("ci", 0, dist_graph_create, of_comm(MPI_Dist_graph_create_adjacent(COMM, 0, zeros, zeros, 0, zeros, zeros, h->info, 0, &c), &c)) \
    C("c", 0, topo_test, MPI_Topo_test(COMM, &number)) \
    C("", 0, cart_get, MPI_Cart_get(grid, 1, counts, counts, counts)) \
    C("t", 0, type_size, printed(MPI_Type_size(TYPE, &number), number)) \
    C("t", 0, type_size_x, MPI_Type_size_x(TYPE, &large)) \
    C("t", 0, type_get_extent, MPI_Type_get_extent(TYPE, &lower, &extent)) \
    C("t", 1, type_contiguous, of_type(MPI_Type_contiguous(COUNT, TYPE, &t), &t)) \
    C("t", 1, type_vector, of_type(MPI_Type_vector(COUNT, 1, 2, TYPE, &t), &t)) \
    C("t", 0, type_dup, of_type(MPI_Type_dup(TYPE, &t), &t)) \
    C("t", 0, type_get_name, MPI_Type_get_name(TYPE, text, &length)) \
    C("ct", 1, pack_size, printed(MPI_Pack_size(COUNT, TYPE, COMM, &number) ? 1 : 0, 0)) \
    C("ct", 1, pack, (number = 0, MPI_Pack(from, COUNT, TYPE, text, sizeof text, &number, COMM))) \
    C("i", 0, info_dup, of_info(MPI_Info_dup(h->info, &i), &i)) \
    C("i", 0, info_get_nkeys, MPI_Info_get_nkeys(h->info, &number)) \
    C("i", 0, info_set, MPI_Info_set(h->info, "key", "value")) \
    C("", 0, no_request_waited, MPI_Wait((r = MPI_REQUEST_NULL, &r), &s)) \
    C("", 0, no_request_tested, printed(MPI_Test((r = MPI_REQUEST_NULL, &r), &flag, &s), flag)) \
    C("", 0, no_requests_waited, MPI_Waitall(2, none(two), several)) \
    C("", 0, no_requests_any, printed(MPI_Waitany(2, none(two), &number, &s), number == MPI_UNDEFINED)) \
    C("", 0, no_requests_some, printed(MPI_Testsome(2, none(two), &number, counts, several), number == MPI_UNDEFINED)) \
    C("", 0, no_request_freed, MPI_Request_free((r = MPI_REQUEST_NULL, &r))) \
    C("", 0, no_request_cancelled, MPI_Cancel((r = MPI_REQUEST_NULL, &r))) \
    C("", 0, no_request_started, MPI_Start((r = MPI_REQUEST_NULL, &r))) \
    C("", 0, no_requests_started, MPI_Startall(2, none(two))) \
    C("", 0, no_request_status, MPI_Request_get_status(MPI_REQUEST_NULL, &flag, &s)) \
    C("", 0, no_comm_freed, MPI_Comm_free((c = MPI_COMM_NULL, &c))) \
    C("", 0, no_comm_disconnected, MPI_Comm_disconnect((c = MPI_COMM_NULL, &c))) \
    C("", 0, world_freed, MPI_Comm_free((c = MPI_COMM_WORLD, &c))) \
    C("", 0, no_group_freed, MPI_Group_free((g = MPI_GROUP_NULL, &g))) \
    C("", 0, no_win_freed, MPI_Win_free((w = MPI_WIN_NULL, &w))) \
    C("", 0, no_type_freed, MPI_Type_free((t = MPI_DATATYPE_NULL, &t))) \
    C("", 0, int_freed, MPI_Type_free((t = MPI_INT, &t))) \
    C("", 0, no_type_committed, MPI_Type_commit((t = MPI_DATATYPE_NULL, &t))) \
    C("", 0, no_op_freed, MPI_Op_free((o = MPI_OP_NULL, &o))) \
    C("", 0, no_info_freed, MPI_Info_free((i = MPI_INFO_NULL, &i))) \
    C("", 0, no_handler_freed, MPI_Errhandler_free((e = MPI_ERRHANDLER_NULL, &e))) \
    FILES(C)

static MPI_Request *none(MPI_Request *two)
{
    two[0] = two[1] = MPI_REQUEST_NULL;
    return two;
}

#define FUNCTION(kinds, counted, name, call) \
    static int call_##name(Handles *h) \
    { \
        MPI_Request r = MPI_REQUEST_NULL, two[2]; \
        MPI_Status s, several[2]; \
        MPI_Message m; \
        MPI_Comm c; \
        MPI_Group g; \
        MPI_Win w; \
        MPI_Datatype t; \
        MPI_Info i; \
        MPI_Op o; \
        MPI_Errhandler e; \
        MPI_File f; \
        MPI_Count large; \
        MPI_Aint lower, extent; \
        void *memory; \
        int one[1] = {1}; \
        (void)h, (void)r, (void)two, (void)s, (void)several, (void)m, (void)c, (void)g, (void)w, (void)t, (void)i, (void)o, (void)e; \
        (void)f, (void)large, (void)lower, (void)extent, (void)memory, (void)one; \
        return call; \
    }
CASES(FUNCTION)

static const struct {
    const char *kinds;
    int counted;
    const char *name;
    int (*call)(Handles *);
} functions[] = {
#define ENTRY(kinds, counted, name, call) {kinds, counted, #name, call_##name},
    CASES(ENTRY)
};

enum { GOOD, PREDEFINED, NONE, FREED, GONE, VALUES };
static const char *const values[VALUES] = {"good", "predefined", "null", "freed", "gone"};

/* Replaces a handle. 0 where there is no such value. */
static int put(Handles *h, char kind, int value)
{
    Handles *of = value == PREDEFINED ? &predefined : value == FREED ? &freed : &gone;
#define OF_KIND(letter, field, null, is_there) \
    case letter: \
        if (!(is_there) && value != NONE) \
            return 0; \
        h->field = value == NONE ? null : of->field; \
        return 1;
    switch (kind) {
        OF_KIND('c', comm, MPI_COMM_NULL, value != GONE || NOTICES_GONE)
        /* Neither null nor gone, for which some MPIs end the program, whatever its error handlers are. */
        OF_KIND('C', comm, good.comm, value != GONE)
        OF_KIND('T', type, good.type, value != GONE)
        OF_KIND('t', type, MPI_DATATYPE_NULL, value != GONE)
        OF_KIND('g', group, MPI_GROUP_NULL, value != GONE)
        /* What MPICH does with one that is gone depends on who has asked about it before. */
        OF_KIND('w', win, MPI_WIN_NULL, 0)
        OF_KIND('o', op, MPI_OP_NULL, value == PREDEFINED)
        OF_KIND('i', info, MPI_INFO_NULL, 0)
        OF_KIND('e', handler, MPI_ERRHANDLER_NULL, value == PREDEFINED)
        OF_KIND('f', file, MPI_FILE_NULL, 0)
    }
    return 0;
}

static void set_handlers(void)
{
    MPI_Errhandler handler, of_windows;
    MPI_Comm_create_errhandler(comm_error, &handler);
    MPI_Win_create_errhandler(win_error, &of_windows);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    MPI_Comm_set_errhandler(good.comm, handler);
    MPI_Comm_set_errhandler(grid, handler);
    MPI_Win_set_errhandler(good.win, of_windows);
    MPI_Errhandler_free(&handler);
    MPI_Errhandler_free(&of_windows);
}

/* What keeps what is freed. */
static MPI_Request uses[2];

static void make_handles(int only)
{
    MPI_Comm_dup(MPI_COMM_WORLD, &good.comm);
    MPI_Type_contiguous(1, MPI_INT, &good.type);
    MPI_Type_commit(&good.type);
    MPI_Comm_group(MPI_COMM_WORLD, &good.group);
    MPI_Win_allocate(ELEMENTS * sizeof(int), sizeof(int), MPI_INFO_NULL, good.comm, &window, &good.win);
    good.op = MPI_SUM;
    MPI_Info_create(&good.info);
    MPI_Comm_get_errhandler(good.comm, &good.handler);
    good.message = MPI_MESSAGE_NO_PROC;
    int one[1] = {1};
    MPI_Cart_create(MPI_COMM_WORLD, 1, one, zeros, 0, &grid);
    if (!only)
        set_handlers();
    MPI_Comm_get_errhandler(good.comm, &good.handler);
    MPI_Win_lock_all(0, good.win);
#ifdef MPI_MODE_RDONLY
    MPI_File_open(MPI_COMM_SELF, "handles.data", MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &good.file);
#endif

    predefined = (Handles){.comm = MPI_COMM_SELF, .type = MPI_INT, .group = MPI_GROUP_EMPTY, .op = MPI_MAX};
    predefined.handler = MPI_ERRORS_RETURN;

    static int never[ELEMENTS];
    freed = good;
    MPI_Comm_dup(MPI_COMM_WORLD, &freed.comm);
    MPI_Type_contiguous(1, MPI_INT, &freed.type);
    MPI_Type_commit(&freed.type);
    MPI_Comm_group(MPI_COMM_SELF, &freed.group);
    MPI_Irecv(never, 1, freed.type, 0, NEVER, good.comm, &uses[0]);
    MPI_Irecv(never + 1, 1, MPI_INT, 0, NEVER, freed.comm, &uses[1]);

    /* The last of all, so that nothing gets their handles. */
    MPI_Comm_dup(MPI_COMM_WORLD, &gone.comm);

    Handles of_freed = freed, of_gone = gone;
    MPI_Comm_free(&of_freed.comm);
    MPI_Type_free(&of_freed.type);
    MPI_Group_free(&of_freed.group);
    MPI_Comm_free(&of_gone.comm);
}

/* Makes one call, whose name is printed before it. */
static void try(size_t place, Handles *h, const char *name)
{
    printf("%s", name);
    fflush(stdout);
    on_world = on_self = on_others = on_windows = 0;
    int code = functions[place].call(h), class = 0;
    MPI_Error_class(code, &class);
    printf(": class %d, handlers %d %d %d %d\n", class, on_world, on_self, on_others, on_windows);
}

int main(int argc, char **argv)
{
    const char *only = argc > 1 ? argv[1] : NULL;
    MPI_Init(&argc, &argv);
    static char buffer[1 << 16];
    MPI_Buffer_attach(buffer, sizeof buffer);
    make_handles(only != NULL);
    for (size_t place = 0; place < sizeof functions / sizeof functions[0]; place++) {
        const char *kinds = functions[place].kinds;
        for (int count = functions[place].counted ? 0 : 1; count < 2; count++) {
            /* All good, and then each handle in turn. */
            for (int changed = -1; changed < (int)strlen(kinds); changed++) {
                for (int value = changed < 0 ? GOOD : PREDEFINED; value < (changed < 0 ? PREDEFINED : VALUES); value++) {
                    Handles h = good;
                    h.count = count;
                    if (changed >= 0 && !put(&h, kinds[changed], value))
                        continue;
                    char name[64];
                    snprintf(name, sizeof name, "%s %c=%s %d", functions[place].name,
                             changed < 0 ? '-' : kinds[changed], values[value], count);
                    if (!only || !strcmp(only, name))
                        try(place, &h, name);
                }
            }
        }
    }
    for (int i = 0; i < 2; i++) {
        MPI_Cancel(&uses[i]);
        MPI_Wait(&uses[i], MPI_STATUS_IGNORE);
    }
    MPI_Win_unlock_all(good.win);
    MPI_Win_free(&good.win);
#ifdef MPI_MODE_RDONLY
    MPI_File_close(&good.file);
#endif
    MPI_Comm_free(&grid);
    MPI_Comm_free(&good.comm);
    MPI_Finalize();
    puts("OK");
    return 0;
}
