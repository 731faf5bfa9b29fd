/* halo2d: heat spreading over a plate, computed by ranks that exchange the rims ("halos") of their tiles.
 *
 * The plate is a grid of nx x ny cells, cut into one tile per rank of a Cartesian communicator. In every iteration
 * each rank receives a row or column of cells from each neighbour, sends its own, computes the inner cells meanwhile,
 * and computes the rim when the halos are there. Then all ranks agree on the largest change of any cell.
 *
 * Two ranks misbehave on purpose, each in a way that is common in real programs:
 *
 *   - The slow rank comes late to the exchange, as if it had more work than the others. Its neighbours have posted
 *     their receives long before: these receives stay long in the neighbours' queues of posted receives.
 *   - The late rank sends in time and posts its receives late, as if it had something else to do first, while it
 *     looks for arriving messages now and then (MPI_Iprobe). The messages of its neighbours wait for it in its
 *     queue of unexpected messages.
 *
 * The checksum at the end depends on neither, nor on the number of ranks. `halo2d --help` lists the options.
 */
#define _GNU_SOURCE /* getopt_long, nanosleep */
#include <getopt.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { UP, DOWN, LEFT, RIGHT, SIDES };

struct options {
    int nx, ny, iterations;
    int slow_rank, late_rank; /* -1: none */
    long slow_us, late_us;    /* per iteration, in microseconds */
};

/* One rank's part of the plate. The arrays hold nx + 2 columns and ny + 2 rows: the tile and the halo around it. */
struct tile {
    MPI_Comm comm;
    int rank, neighbours[SIDES];
    int nx, ny;         /* cells of this tile */
    int first_x, first_y; /* its place in the plate */
    double *now, *next;
    MPI_Datatype row, column;
};

static const char usage[] =
    "halo2d: a 2-D halo exchange with one slow rank and one rank that posts its receives late\n"
    "\n"
    "usage: mpirun -n RANKS ./halo2d [options]\n"
    "\n"
    "  --nx N           columns of the grid (256)\n"
    "  --ny N           rows of the grid (256)\n"
    "  --iterations N   iterations (200)\n"
    "  --slow-rank R    rank that comes late to the exchange, -1 for none (1)\n"
    "  --slow-us T      by how many microseconds per iteration (2000)\n"
    "  --late-rank R    rank that posts its receives late, -1 for none (2)\n"
    "  --late-us T      by how many microseconds per iteration (1000)\n"
    "  --help           show this text\n"
    "\n"
    "The checksum that is printed at the end is the same for any number of ranks and any delay.\n";

/* Reads a whole number of at least `minimum`; on anything else explains it and ends the run. */
static long number(const char *option, const char *text, long minimum)
{
    char *end;
    long value = strtol(text, &end, 10);
    if (*text == '\0' || *end != '\0' || value < minimum || value > 1000000000) {
        fprintf(stderr, "halo2d: --%s wants a whole number from %ld to 1000000000, not '%s'\n", option, minimum, text);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    return value;
}

/* Returns 0 when the program should end at once because help was asked for. */
static int parse(int argc, char **argv, struct options *o)
{
    static const struct option names[] = {
        {"nx", required_argument, NULL, 'x'},        {"ny", required_argument, NULL, 'y'},
        {"iterations", required_argument, NULL, 'i'}, {"slow-rank", required_argument, NULL, 's'},
        {"slow-us", required_argument, NULL, 'S'},   {"late-rank", required_argument, NULL, 'l'},
        {"late-us", required_argument, NULL, 'L'},   {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int rank, letter, index = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    opterr = rank == 0; /* one complaint is enough */

    while ((letter = getopt_long(argc, argv, "", names, &index)) != -1) {
        const char *name = names[index].name;
        switch (letter) {
        case 'x': o->nx = (int)number(name, optarg, 1); break;
        case 'y': o->ny = (int)number(name, optarg, 1); break;
        case 'i': o->iterations = (int)number(name, optarg, 0); break;
        case 's': o->slow_rank = (int)number(name, optarg, -1); break;
        case 'S': o->slow_us = number(name, optarg, 0); break;
        case 'l': o->late_rank = (int)number(name, optarg, -1); break;
        case 'L': o->late_us = number(name, optarg, 0); break;
        case 'h':
            if (rank == 0)
                fputs(usage, stdout);
            return 0;
        default:
            if (rank == 0)
                fputs("halo2d: try --help\n", stderr);
            MPI_Abort(MPI_COMM_WORLD, 2);
        }
    }
    return 1;
}

/* The share of `cells` that part `index` of `parts` gets, and where it starts; shares differ by one at most. */
static int share(int cells, int parts, int index, int *first)
{
    int base = cells / parts, rest = cells % parts;
    *first = index * base + (index < rest ? index : rest);
    return base + (index < rest);
}

static double *cell(const struct tile *t, double *cells, int x, int y)
{
    return &cells[(size_t)y * (size_t)(t->nx + 2) + (size_t)x];
}

static void make_tile(struct tile *t, const struct options *o, int *columns, int *rows)
{
    int size, dims[2] = {0, 0}, periods[2] = {0, 0}, place[2];
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Dims_create(size, 2, dims);
    *rows = dims[0];
    *columns = dims[1];
    if (dims[0] > o->ny || dims[1] > o->nx) {
        fprintf(stderr, "halo2d: a grid of %d x %d is too small for %d x %d ranks\n", o->nx, o->ny, dims[1], dims[0]);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }

    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &t->comm);
    MPI_Comm_rank(t->comm, &t->rank);
    MPI_Cart_coords(t->comm, t->rank, 2, place);
    MPI_Cart_shift(t->comm, 0, 1, &t->neighbours[UP], &t->neighbours[DOWN]);
    MPI_Cart_shift(t->comm, 1, 1, &t->neighbours[LEFT], &t->neighbours[RIGHT]);
    t->ny = share(o->ny, dims[0], place[0], &t->first_y);
    t->nx = share(o->nx, dims[1], place[1], &t->first_x);

    size_t cells = (size_t)(t->nx + 2) * (size_t)(t->ny + 2);
    t->now = calloc(cells, sizeof *t->now);
    t->next = calloc(cells, sizeof *t->next);
    if (t->now == NULL || t->next == NULL) {
        fprintf(stderr, "halo2d: no memory for %zu cells\n", cells);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Type_contiguous(t->nx, MPI_DOUBLE, &t->row);
    MPI_Type_vector(t->ny, 1, t->nx + 2, MPI_DOUBLE, &t->column);
    MPI_Type_commit(&t->row);
    MPI_Type_commit(&t->column);

    /* The plate is cold except for a hot spot; beyond its edge it is always cold. */
    for (int y = 1; y <= t->ny; y++)
        for (int x = 1; x <= t->nx; x++) {
            int px = t->first_x + x - 1, py = t->first_y + y - 1;
            int hot = px >= o->nx / 4 && px < o->nx - o->nx / 4 && py >= o->ny / 3 && py < o->ny - o->ny / 3;
            *cell(t, t->now, x, y) = hot ? 100.0 : 0.0;
        }
}

static void free_tile(struct tile *t)
{
    MPI_Type_free(&t->column);
    MPI_Type_free(&t->row);
    free(t->next);
    free(t->now);
    MPI_Comm_free(&t->comm);
}

/* The tag of a message says to which side of its sender it goes. */
static void post_receives(struct tile *t, MPI_Request requests[SIDES])
{
    const int *n = t->neighbours;
    MPI_Irecv(cell(t, t->now, 1, 0), 1, t->row, n[UP], DOWN, t->comm, &requests[UP]);
    MPI_Irecv(cell(t, t->now, 1, t->ny + 1), 1, t->row, n[DOWN], UP, t->comm, &requests[DOWN]);
    MPI_Irecv(cell(t, t->now, 0, 1), 1, t->column, n[LEFT], RIGHT, t->comm, &requests[LEFT]);
    MPI_Irecv(cell(t, t->now, t->nx + 1, 1), 1, t->column, n[RIGHT], LEFT, t->comm, &requests[RIGHT]);
}

static void start_sends(struct tile *t, MPI_Request requests[SIDES])
{
    const int *n = t->neighbours;
    MPI_Isend(cell(t, t->now, 1, 1), 1, t->row, n[UP], UP, t->comm, &requests[UP]);
    MPI_Isend(cell(t, t->now, 1, t->ny), 1, t->row, n[DOWN], DOWN, t->comm, &requests[DOWN]);
    MPI_Isend(cell(t, t->now, 1, 1), 1, t->column, n[LEFT], LEFT, t->comm, &requests[LEFT]);
    MPI_Isend(cell(t, t->now, t->nx, 1), 1, t->column, n[RIGHT], RIGHT, t->comm, &requests[RIGHT]);
}

/* One Jacobi step of the cells in [x0, x1] x [y0, y1]; returns the largest change. */
static double relax(struct tile *t, int x0, int x1, int y0, int y1)
{
    double largest = 0.0;
    for (int y = y0; y <= y1; y++)
        for (int x = x0; x <= x1; x++) {
            double vertical = *cell(t, t->now, x, y - 1) + *cell(t, t->now, x, y + 1);
            double horizontal = *cell(t, t->now, x - 1, y) + *cell(t, t->now, x + 1, y);
            double old = *cell(t, t->now, x, y), fresh = 0.25 * (vertical + horizontal);
            double change = fresh > old ? fresh - old : old - fresh;
            *cell(t, t->next, x, y) = fresh;
            if (change > largest)
                largest = change;
        }
    return largest;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* The cells along the edge of the tile, which need the halos; a tile may be only one cell wide or high. */
static double relax_rim(struct tile *t)
{
    double largest = relax(t, 1, t->nx, 1, 1);
    if (t->ny > 1)
        largest = larger(largest, relax(t, 1, t->nx, t->ny, t->ny));
    if (t->ny > 2) {
        largest = larger(largest, relax(t, 1, 1, 2, t->ny - 1));
        if (t->nx > 1)
            largest = larger(largest, relax(t, t->nx, t->nx, 2, t->ny - 1));
    }
    return largest;
}

static void sleep_us(long microseconds)
{
    struct timespec time = {microseconds / 1000000, microseconds % 1000000 * 1000};
    nanosleep(&time, NULL);
}

/* Passes the time outside MPI, except for a glance at the arriving messages every 100 microseconds. */
static void dawdle(struct tile *t, long microseconds)
{
    double end = MPI_Wtime() + 1e-6 * (double)microseconds;
    while (MPI_Wtime() < end) {
        int found;
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, t->comm, &found, MPI_STATUS_IGNORE);
        sleep_us(100);
    }
}

/* Exchanges the halos and computes the next state; returns the largest change on the whole plate. */
static double iterate(struct tile *t, const struct options *o)
{
    MPI_Request receives[SIDES], sends[SIDES];

    if (t->rank == o->slow_rank)
        sleep_us(o->slow_us);
    if (t->rank == o->late_rank) {
        start_sends(t, sends);
        dawdle(t, o->late_us);
        post_receives(t, receives);
    } else {
        post_receives(t, receives);
        start_sends(t, sends);
    }

    double mine = relax(t, 2, t->nx - 1, 2, t->ny - 1);
    MPI_Waitall(SIDES, receives, MPI_STATUSES_IGNORE);
    mine = larger(mine, relax_rim(t));
    MPI_Waitall(SIDES, sends, MPI_STATUSES_IGNORE);

    double *old = t->now, all = 0.0;
    t->now = t->next;
    t->next = old;
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, t->comm);
    return all;
}

/* A sum over all cells of their exact bits, mixed with their place: equal for every division of the plate. */
static uint64_t plate_checksum(struct tile *t, const struct options *o)
{
    uint64_t mine = 0, all = 0;
    for (int y = 1; y <= t->ny; y++)
        for (int x = 1; x <= t->nx; x++) {
            uint64_t bits, place = (uint64_t)(t->first_y + y) * (uint64_t)o->nx + (uint64_t)(t->first_x + x);
            memcpy(&bits, cell(t, t->now, x, y), sizeof bits);
            bits = (bits ^ (bits >> 31)) * 0x9e3779b97f4a7c15u;
            mine += (bits ^ (bits >> 29)) * (2 * place + 1);
        }
    MPI_Reduce(&mine, &all, 1, MPI_UINT64_T, MPI_SUM, 0, t->comm);
    return all;
}

int main(int argc, char **argv)
{
    struct options options = {.nx = 256, .ny = 256, .iterations = 200,
                              .slow_rank = 1, .slow_us = 2000, .late_rank = 2, .late_us = 1000};
    struct tile tile;
    int columns, rows;
    double change = 0.0;

    MPI_Init(&argc, &argv);
    if (!parse(argc, argv, &options)) {
        MPI_Finalize();
        return 0;
    }
    make_tile(&tile, &options, &columns, &rows);
    for (int i = 0; i < options.iterations; i++)
        change = iterate(&tile, &options);
    uint64_t checksum = plate_checksum(&tile, &options);

    if (tile.rank == 0) {
        printf("halo2d: %d x %d cells on %d x %d ranks, %d iterations\n", options.nx, options.ny, columns, rows,
               options.iterations);
        if (options.slow_rank >= 0 && options.slow_rank < columns * rows)
            printf("rank %d comes %ld us late to the exchange\n", options.slow_rank, options.slow_us);
        if (options.late_rank >= 0 && options.late_rank < columns * rows)
            printf("rank %d posts its receives %ld us late\n", options.late_rank, options.late_us);
        printf("largest change in the last iteration: %.6g\nchecksum: %016llx\n", change,
               (unsigned long long)checksum);
    }
    free_tile(&tile);
    MPI_Finalize();
    return 0;
}
