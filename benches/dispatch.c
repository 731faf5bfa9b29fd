/* What one registration costs per event: an event that the MPI raises itself, and one of ours, in the
 * same process and of the same messages.
 *
 * Rank 1 sends a few messages and then raises a flag in shared memory, on which rank 0 waits outside
 * MPI: so all of them are there, unexpected, when it begins to receive. MPICH built with
 * --enable-mpit-events raises `unexp_message_enqueued` for each, and the twin `pml_ob1_unex_insert`.
 * The time of receiving is measured without registrations, and with one and with forty empty
 * callbacks on the one event or the other, in turns; medians count.
 *
 *     mpicc -O2 -Iinclude -o dispatch benches/dispatch.c -Wl,--no-as-needed -L... -lmpit_events
 *     mpiexec -n 2 ./dispatch
 *
 * Ends with 1 where ours takes longer, with 77 where the MPI has no such event. */
#include <mpit_events.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 41, BATCHES = 100, BATCH = 16, MOST = 40, CONFIGURATIONS = 5 };

static MPI_Comm comm;
static int rank;
static long heard;
static MPI_Win window;
/* How many batches rank 1 has sent, and how many rank 0 has received. */
static volatile int *sent, *received;

static void empty(MPI_T_event_instance event, MPI_T_event_registration registration, MPI_T_cb_safety safety,
                  void *data)
{
    (void)event, (void)registration, (void)safety, (void)data;
}

static void count(MPI_T_event_instance event, MPI_T_event_registration registration, MPI_T_cb_safety safety,
                  void *data)
{
    (void)event, (void)registration, (void)safety, (void)data;
    heard++;
}

static void must(int code, const char *what)
{
    if (code != MPI_SUCCESS) {
        fprintf(stderr, "dispatch: %s gave error %d\n", what, code);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
}

/* Batches of messages from rank 1 to rank 0; gives the seconds that rank 0 has spent in MPI. */
static double messages(int batches)
{
    static int batch;
    double spent = 0;
    for (int end = batch + batches; batch < end; batch++) {
        int data[BATCH];
        if (rank == 1) {
            while (*received != batch)
                sched_yield();
            for (int i = 0; i < BATCH; i++)
                MPI_Send(&i, 1, MPI_INT, 0, i, comm);
            __sync_synchronize();
            *sent = batch + 1;
        } else {
            while (*sent != batch + 1)
                sched_yield();
            double start = MPI_Wtime();
            /* The last one first: on the way there the others are queued. */
            for (int i = BATCH - 1; i >= 0; i--)
                MPI_Recv(&data[i], 1, MPI_INT, 1, i, comm, MPI_STATUS_IGNORE);
            spent += MPI_Wtime() - start;
            *received = batch + 1;
        }
    }
    return spent;
}

static MPI_T_event_registration listen(int event, MPI_T_event_cb_function *callback)
{
    MPI_T_event_registration made;
    must(MPI_T_event_handle_alloc(event, &comm, MPI_INFO_NULL, &made), "MPI_T_event_handle_alloc");
    must(MPI_T_event_register_callback(made, MPI_T_CB_REQUIRE_MPI_RESTRICTED, MPI_INFO_NULL, NULL, callback),
         "MPI_T_event_register_callback");
    return made;
}

/* How often this event is raised for a batch, at rank 0. */
static double raised(int event)
{
    MPI_T_event_registration made = listen(event, count);
    heard = 0;
    messages(10);
    must(MPI_T_event_handle_free(made, NULL, NULL), "MPI_T_event_handle_free");
    double mean = (double)heard / 10;
    MPI_Bcast(&mean, 1, MPI_DOUBLE, 0, comm);
    return mean;
}

/* Nanoseconds of a batch with so many registrations for the event. */
static double time_with(int event, int registrations)
{
    MPI_T_event_registration made[MOST];
    for (int i = 0; i < registrations; i++)
        made[i] = listen(event, empty);
    messages(BATCHES / 10);
    double spent = messages(BATCHES);
    for (int i = 0; i < registrations; i++)
        must(MPI_T_event_handle_free(made[i], NULL, NULL), "MPI_T_event_handle_free");
    return 1e9 * spent / BATCHES;
}

static int ascending(const void *a, const void *b)
{
    double difference = *(const double *)a - *(const double *)b;
    return difference < 0 ? -1 : difference > 0;
}

/* Shared memory for the two flags, on lines of the cache of their own. */
static void share_flags(void)
{
    MPI_Aint bytes;
    int unit, *flags;
    MPI_Win_allocate_shared(rank == 0 ? 256 : 0, 1, MPI_INFO_NULL, comm, &flags, &window);
    MPI_Win_shared_query(window, 0, &bytes, &unit, &flags);
    sent = flags, received = flags + 32;
    if (rank == 0)
        *sent = *received = 0;
    MPI_Barrier(comm);
}

int main(int argc, char **argv)
{
    int provided, native, ours, size;
    MPI_Init(&argc, &argv);
    must(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), "MPI_T_init_thread");
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    if (size != 2) {
        fprintf(stderr, "dispatch: run it on two ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    share_flags();
    must(MPI_T_event_get_index("pml_ob1_unex_insert", &ours), "MPI_T_event_get_index");
    if (MPI_T_event_get_index("unexp_message_enqueued", &native) != MPI_SUCCESS) {
        if (rank == 0)
            printf("this MPI has no unexp_message_enqueued: nothing to compare with\n");
        MPI_Win_free(&window);
        MPI_Finalize();
        return 77;
    }
    double events[2] = {raised(native), raised(ours)};

    struct { int event, registrations; } with[CONFIGURATIONS] = {
        {ours, 0}, {native, 1}, {ours, 1}, {native, MOST}, {ours, MOST}};
    static double times[CONFIGURATIONS][ROUNDS];
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < CONFIGURATIONS; i++)
            times[i][round] = time_with(with[i].event, with[i].registrations);
    for (int i = 0; i < CONFIGURATIONS; i++)
        qsort(times[i], ROUNDS, sizeof(double), ascending);
    double none = times[0][ROUNDS / 2], first[2], each[2];
    for (int mine = 0; mine < 2; mine++) {
        double one = times[1 + mine][ROUNDS / 2], most = times[3 + mine][ROUNDS / 2];
        first[mine] = (one - none) / events[mine];
        each[mine] = (most - one) / (MOST - 1) / events[mine];
    }
    if (rank == 0) {
        printf("events for each batch of %d: MPI's own %.1f, ours %.1f\n", BATCH, events[0], events[1]);
        printf("a batch without registrations: %.0f ns\n", none);
        printf("nanoseconds per event      MPI's own      ours  ours / MPI's own\n");
        printf("the first registration    %10.1f%10.1f%10.2f\n", first[0], first[1], first[1] / first[0]);
        printf("each of %d further         %9.1f%10.1f%10.2f\n", MOST - 1, each[0], each[1], each[1] / each[0]);
    }
    MPI_Win_free(&window);
    MPI_Comm_free(&comm);
    MPI_T_finalize();
    MPI_Finalize();
    return rank == 0 && each[1] > each[0];
}
