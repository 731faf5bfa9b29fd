/* The rules on a tool that comes after MPI_Init: until then nothing is followed. Only rank 0 has one. */
#include "counting.h"

enum { LISTENER = 5, STORED = 6, POSTED = 7, BEFORE = 8, TIMES = 10 };

static int rank;
static MPI_Request listener;
static int heard;

static struct seen arrivals, inserts[2], removals[2];
static MPI_T_event_registration registrations[5];

static MPI_T_event_registration counted(const char *name, struct seen *seen)
{
    int index = -1;
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_T_event_registration made = NULL;
    CHECK(MPI_T_event_get_index(name, &index) == MPI_SUCCESS);
    CHECK(MPI_T_event_handle_alloc(index, &world, MPI_INFO_NULL, &made) == MPI_SUCCESS);
    listen(made, MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE, seen);
    return made;
}

static void send_one(int tag, int value)
{
    MPI_Send(&value, 1, MPI_INT, 0, tag, MPI_COMM_WORLD);
}

static int receive_one(int tag)
{
    int value = -1;
    MPI_Recv(&value, 1, MPI_INT, 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return value;
}

/* What was begun before the tool came: a receive that waits, and a message that nobody has asked for. */
static void begin_before(void)
{
    if (rank == 0)
        MPI_Irecv(&heard, 1, MPI_INT, 1, LISTENER, MPI_COMM_WORLD, &listener);
    for (int i = 0; i < TIMES; i++) {
        if (rank == 0)
            CHECK(receive_one(BEFORE) == i);
        else if (rank == 1)
            send_one(BEFORE, i);
    }
    if (rank == 1)
        send_one(STORED, 1);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Rule 43. */
static void what_began_before_is_not_taken_for_what_comes_later(void)
{
    if (rank == 0) {
        int provided;
        CHECK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS);
        registrations[0] = registration(MPI_COMM_WORLD);
        listen(registrations[0], MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE, &arrivals);
        registrations[1] = counted("pml_ob1_posted_insert", &inserts[0]);
        registrations[2] = counted("pml_ob1_posted_remove", &removals[0]);
        registrations[3] = counted("pml_ob1_unex_insert", &inserts[1]);
        registrations[4] = counted("pml_ob1_unex_remove", &removals[1]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        send_one(LISTENER, 3);
        send_one(STORED, 2);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Wait(&listener, MPI_STATUS_IGNORE);
        CHECK(heard == 3);
        CHECK(receive_one(STORED) == 1 && receive_one(STORED) == 2);
        CHECK(arrivals.events == 2);
        MPI_Irecv(&heard, 1, MPI_INT, 1, LISTENER, MPI_COMM_WORLD, &listener);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        send_one(LISTENER, 4);
    if (rank == 0) {
        MPI_Wait(&listener, MPI_STATUS_IGNORE);
        CHECK(heard == 4 && arrivals.events == 3);
        CHECK(inserts[0].events == removals[0].events);
        CHECK(inserts[1].events == removals[1].events);
    }
}

/* Rule 43. */
static void what_begins_later_is_followed(void)
{
    struct seen before[5] = {arrivals, inserts[0], removals[0], inserts[1], removals[1]};
    for (int i = 0; i < TIMES; i++) {
        int value = -1;
        MPI_Request request;
        if (rank == 0)
            MPI_Irecv(&value, 1, MPI_INT, 1, POSTED, MPI_COMM_WORLD, &request);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 1) {
            send_one(POSTED, i);
            send_one(STORED, i);
        }
        if (rank == 0)
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0)
            CHECK(value == i && receive_one(STORED) == i);
    }
    if (rank == 0) {
        CHECK(arrivals.events - before[0].events == 2 * TIMES);
        CHECK(inserts[0].events - before[1].events == TIMES);
        CHECK(removals[0].events - before[2].events == TIMES);
        CHECK(inserts[1].events - before[3].events == TIMES);
        CHECK(removals[1].events - before[4].events == TIMES);
        for (int i = 0; i < 5; i++)
            end(registrations[i]);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    begin_before();
    RULE(what_began_before_is_not_taken_for_what_comes_later);
    RULE(what_begins_later_is_followed);
    MPI_Finalize();
    return failures != 0;
}
