/* Two ranks. One line alone sends: rank 0, in the region main/send. Reads all variables of MEL that are bound to a communicator when MPI is
   initialised and before it is finalised, and prints by how much each has grown.
   `nested`: regions in regions, and ends that do not fit. `levels`: in phases that MPI_Pcontrol names. `figure`: neighbours exchange
   messages, with a reduction now and then. `plain`: without MPI_T. */
#include "../check.h"
#include "../../../include/mel.h"

enum { MESSAGES = 20, INTS = 25, MOST = 32 };

static MPI_T_pvar_session session;
static MPI_T_pvar_handle handles[MOST];
static char names[MOST][64];
static unsigned long firsts[MOST];
static int variables;

static void open_variables(void)
{
    int number, provided;
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_pvar_get_num(&number);
    MPI_T_pvar_session_create(&session);
    for (int index = 0; index < number && variables < MOST; index++) {
        char name[64], text[1024];
        int name_length = sizeof name, text_length = sizeof text, verbosity, class, bind, readonly, continuous, atomic, count;
        MPI_Datatype type;
        MPI_T_enum values;
        if (MPI_T_pvar_get_info(index, name, &name_length, &verbosity, &class, &type, &values, text, &text_length, &bind,
                                &readonly, &continuous, &atomic) != MPI_SUCCESS)
            continue;
        if (strncmp(name, "mel_", 4) || bind != MPI_T_BIND_MPI_COMM)
            continue;
        if (MPI_T_pvar_handle_alloc(session, index, &world, &handles[variables], &count) != MPI_SUCCESS)
            continue;
        if (!continuous)
            MPI_T_pvar_start(session, handles[variables]);
        MPI_T_pvar_read(session, handles[variables], &firsts[variables]);
        strcpy(names[variables++], name);
    }
}

static void print_variables(void)
{
    for (int place = 0; place < variables; place++) {
        unsigned long last;
        MPI_T_pvar_read(session, handles[place], &last);
        printf("variable %d %s %lu %lu\n", world_rank(), names[place], firsts[place], last);
    }
}

static void send(void)
{
    int data[INTS] = {0};
    for (int i = 0; i < MESSAGES; i++) {
        if (world_rank() == 0) {
            if (i == 0)
                printf("line %d\n", __LINE__ + 1);
            MPI_Send(data, INTS, MPI_INT, 1, 1, MPI_COMM_WORLD);
        } else if (world_rank() == 1) {
            MPI_Recv(data, INTS, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
}

static void one_line_sends(void)
{
    mel_region_begin("main");
    MPI_Barrier(MPI_COMM_WORLD);
    mel_region_begin("send");
    send();
    mel_region_end("send");
    mel_region_begin("other");
    MPI_Barrier(MPI_COMM_WORLD);
    mel_region_end("other");
    mel_region_end("main");
}

static void nested(void)
{
    mel_region_begin("a");
    mel_region_begin("b");
    mel_region_begin("c");
    send();
    mel_region_end("a");
    mel_region_end("nobody has begun this");
    mel_region_begin("d");
    send();
    mel_region_end("d");
    send();
}

static void levels(void)
{
    MPI_Pcontrol(3);
    send();
    MPI_Pcontrol(4);
    mel_region_begin("in four");
    send();
    mel_region_end("in four");
}

static void figure(void)
{
    int other = 1 - world_rank(), in, out = 0, sum;
    for (int step = 0; step < 300; step++) {
        MPI_Request requests[2];
        MPI_Irecv(&in, 1, MPI_INT, other, 1, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(&out, 1, MPI_INT, other, 1, MPI_COMM_WORLD, &requests[1]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        if (step % 10 == 0)
            MPI_Allreduce(&out, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    REQUIRE(world_size() == 2);
    if (strcmp(mode, "plain"))
        open_variables();
    if (!strcmp(mode, "nested"))
        nested();
    else if (!strcmp(mode, "levels"))
        levels();
    else if (!strcmp(mode, "figure"))
        figure();
    else
        one_line_sends();
    if (strcmp(mode, "plain"))
        print_variables();
    finish();
    return 0;
}
