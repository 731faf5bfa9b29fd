/* Files: a rank that is late to what all do with one, a rank that writes while the others wait, and ranks with files of their own.
 * And data that is packed inside of MPI. */
#include "verdicts.h"

enum { PIECE = 1 << 16, PACKED = 1 << 20 };

static char *data;
static char name[64];

static MPI_File opened(MPI_Comm comm)
{
    MPI_File file;
    int who = comm == MPI_COMM_SELF ? rank : -1, process = (int)getpid();
    MPI_Bcast(&process, 1, MPI_INT, 0, comm);
    snprintf(name, sizeof name, "verdicts-%d.%d", process, who);
    MPI_File_open(comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file); /* line OPEN */
    data = zeros(PIECE);
    return file;
}

static void write_at_all(void)
{
    MPI_File file = opened(MPI_COMM_WORLD);
    EACH_STEP {
        late_works();
        MEETS(MPI_File_write_at_all(file, rank * PIECE, data, PIECE, MPI_CHAR, MPI_STATUS_IGNORE)); /* line WRITE_AT_ALL */
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_File_close(&file);
}

static void read_at_all(void)
{
    MPI_File file = opened(MPI_COMM_WORLD);
    MPI_File_write_at_all(file, rank * PIECE, data, PIECE, MPI_CHAR, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    EACH_STEP {
        late_works();
        MEETS(MPI_File_read_at_all(file, rank * PIECE, data, PIECE, MPI_CHAR, MPI_STATUS_IGNORE)); /* line READ_AT_ALL */
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_File_close(&file);
}

static void open_file(void)
{
    EACH_STEP {
        MPI_File file;
        late_works();
        MEETS(MPI_File_open(MPI_COMM_WORLD, "verdicts-opened", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file)); /* line FILE_OPEN */
        MPI_File_close(&file);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (rank == 0)
        MPI_File_delete("verdicts-opened", MPI_INFO_NULL);
}

static void close_file(void)
{
    EACH_STEP {
        MPI_File file = opened(MPI_COMM_WORLD);
        late_works();
        MEETS(MPI_File_close(&file)); /* line CLOSE */
        free(data);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* One rank writes to its own part while the others wait in a barrier: it does not compute. */
static void writes(void)
{
    MPI_File file = opened(MPI_COMM_WORLD);
    char *much = zeros(PIECE * 512);
    EACH_STEP {
        if (rank == late)
            MPI_File_write_at(file, 0, much, PIECE * 512, MPI_CHAR, MPI_STATUS_IGNORE); /* line WRITES */
        MEETS(MPI_Barrier(MPI_COMM_WORLD)); /* line AFTER_WRITES */
    }
    MPI_File_close(&file);
}

/* One rank packs while the others wait. */
static void packs(void)
{
    MPI_Datatype sparse;
    double *matrix = zeros(2 * PACKED * sizeof *matrix);
    char *packed = zeros(PACKED * sizeof *matrix + 64);
    MPI_Type_vector(PACKED, 1, 2, MPI_DOUBLE, &sparse);
    MPI_Type_commit(&sparse);
    EACH_STEP {
        if (rank == late) {
            double since = now_s();
            while (now_s() - since < 0.02) {
                int place = 0;
                MPI_Pack(matrix, 1, sparse, packed, PACKED * (int)sizeof *matrix + 64, &place, MPI_COMM_WORLD); /* line PACKS */
            }
        }
        MEETS(MPI_Barrier(MPI_COMM_WORLD)); /* line AFTER_PACKS */
    }
    MPI_Type_free(&sparse);
}

/* Healthy: each rank has a file of its own, and they do not meet. */
static void own_files(void)
{
    MPI_File file = opened(MPI_COMM_SELF);
    EACH_STEP {
        work(rank == 0 ? 20 : 5);
        MPI_File_write_at_all(file, 0, data, PIECE, MPI_CHAR, MPI_STATUS_IGNORE);
    }
    if (rank != 0)
        work(150);
    MPI_File_close(&file);
}

PROBLEMS({"write_at_all", write_at_all}, {"read_at_all", read_at_all}, {"open_file", open_file},
         {"close_file", close_file}, {"writes", writes}, {"packs", packs}, {"own_files", own_files})
