/* Random traffic among all ranks on several communicators, with and without wildcards, contents verified.
 *
 * All ranks draw the same plan from the seed: who sends what to whom on which communicator. Within a round each
 * communicator has one style of receives (specific, any source, any tag, both), so that no wild receive can take what
 * a specific one waits for; a barrier parts the rounds. Whether a rank receives first or sends first differs too.
 *
 * Arguments: seed, number of rounds.
 *
 * ranks: 2 4
 * args: 1 20
 * args: 2 20
 * args: 77 40
 */
#include "check.h"

enum { COMMS = 3, PER_ROUND = 60, TAGS = 4, SMALL = 64, BIG = 80000 };
enum style { SPECIFIC, ANY_SOURCE, ANY_TAG, ANY_BOTH, STYLES };

struct message {
    int id, comm, from, to, tag, ints; /* ranks are those of the communicator */
};

static uint64_t random_state;

static int draw(int below)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (int)((random_state >> 33) % (uint64_t)below);
}

static MPI_Comm comms[COMMS];

static void draw_round(struct message *plan, enum style *styles, int size, int first_id)
{
    for (int c = 0; c < COMMS; c++)
        styles[c] = (enum style)draw(STYLES);
    for (int i = 0; i < PER_ROUND; i++) {
        struct message *m = &plan[i];
        m->id = first_id + i;
        m->comm = draw(COMMS);
        m->from = draw(size);
        m->to = draw(size);
        m->tag = draw(TAGS);
        m->ints = draw(20) == 0 ? BIG / 4 : 4 + draw(SMALL);
    }
}

/* A message starts with its id, sender, tag and length; the rest follows from the id. */
static void fill(int *data, const struct message *m)
{
    data[0] = m->id;
    data[1] = m->from;
    data[2] = m->tag;
    data[3] = m->ints;
    for (int i = 4; i < m->ints; i++)
        data[i] = m->id * 31 + i;
}

struct receive {
    int comm, *data;
};

static void post(const struct message *plan, const enum style *styles, const int *me, struct receive *receives,
                 MPI_Request *requests, int *count)
{
    for (int i = 0; i < PER_ROUND; i++) {
        const struct message *m = &plan[i];
        if (m->to != me[m->comm])
            continue;
        enum style style = styles[m->comm];
        int source = style == ANY_SOURCE || style == ANY_BOTH ? MPI_ANY_SOURCE : m->from;
        int tag = style == ANY_TAG || style == ANY_BOTH ? MPI_ANY_TAG : m->tag;
        int *data = malloc(BIG + SMALL);
        REQUIRE(data != NULL);
        receives[*count] = (struct receive){m->comm, data};
        MPI_Irecv(data, (BIG + SMALL) / 4, MPI_INT, source, tag, comms[m->comm], &requests[(*count)++]);
    }
}

static void send(const struct message *plan, const int *me, int **buffers, MPI_Request *requests, int *count)
{
    for (int i = 0; i < PER_ROUND; i++) {
        const struct message *m = &plan[i];
        if (m->from != me[m->comm])
            continue;
        int *data = malloc((size_t)m->ints * sizeof *data);
        REQUIRE(data != NULL);
        fill(data, m);
        buffers[*count] = data;
        MPI_Isend(data, m->ints, MPI_INT, m->to, m->tag, comms[m->comm], &requests[(*count)++]);
    }
}

/* The receives are checked in the order of posting, in which the messages of one sender and tag must increase. */
static void verify(const struct message *plan, int first_id, const struct receive *r, MPI_Status *status, int *newest)
{
    int count, id = r->data[0];
    MPI_Get_count(status, MPI_INT, &count);
    REQUIRE(id >= first_id && id < first_id + PER_ROUND);
    const struct message *m = &plan[id - first_id];
    REQUIRE(m->comm == r->comm && count == m->ints);
    REQUIRE(r->data[1] == m->from && status->MPI_SOURCE == m->from);
    REQUIRE(r->data[2] == m->tag && status->MPI_TAG == m->tag);
    for (int i = 4; i < count; i++)
        REQUIRE(r->data[i] == id * 31 + i);
    int *last = &newest[(m->comm * 64 + m->from) * TAGS + m->tag];
    REQUIRE(id > *last);
    *last = id;
    mix((uint64_t)id * 1000003u + (uint64_t)count);
}

static void play_round(const struct message *plan, const enum style *styles, const int *me, int first_id,
                       int receive_first)
{
    static int newest[COMMS * 64 * TAGS];
    MPI_Request receive_requests[PER_ROUND], send_requests[PER_ROUND];
    MPI_Status statuses[PER_ROUND];
    struct receive receives[PER_ROUND];
    int *buffers[PER_ROUND], received = 0, sent = 0;

    if (receive_first)
        post(plan, styles, me, receives, receive_requests, &received);
    send(plan, me, buffers, send_requests, &sent);
    if (!receive_first)
        post(plan, styles, me, receives, receive_requests, &received);

    MPI_Waitall(received, receive_requests, statuses);
    for (int i = 0; i < received; i++) {
        verify(plan, first_id, &receives[i], &statuses[i], newest);
        free(receives[i].data);
    }
    MPI_Waitall(sent, send_requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < sent; i++)
        free(buffers[i]);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank = world_rank(), size = world_size();
    random_state = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    int rounds = argc > 2 ? atoi(argv[2]) : 20;
    REQUIRE(size <= 64);

    /* The world, its copy, and its ranks in reverse. */
    int me[COMMS];
    comms[0] = MPI_COMM_WORLD;
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[2]);
    for (int c = 0; c < COMMS; c++)
        MPI_Comm_rank(comms[c], &me[c]);

    for (int round = 0; round < rounds; round++) {
        struct message plan[PER_ROUND];
        enum style styles[COMMS];
        int first_id = 1 + round * PER_ROUND;
        draw_round(plan, styles, size, first_id);
        int receive_first = (draw(1 << size % 31) >> rank) & 1;
        play_round(plan, styles, me, first_id, receive_first);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Comm_free(&comms[2]);
    MPI_Comm_free(&comms[1]);
    return finish();
}
