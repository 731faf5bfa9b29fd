/* One-sided communication in which a rank is late: with a lock, a post, a fence. */
#include "verdicts.h"

static double *memory, value = 1;
static MPI_Win window;

static void make_window(void)
{
    MPI_Win_allocate(64, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
}

static void lock_and_put(void)
{
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);              /* line LOCK */
    MPI_Put(&value, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, window); /* line PUT */
    MPI_Win_unlock(0, window);                                   /* line UNLOCK */
}

/* The late rank holds the lock of rank 0's window, and rank 1 wants it. Then all meet. */
static void lock_held(void)
{
    char turn = 0;
    make_window();
    EACH_STEP {
        if (rank == late) {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
            MPI_Put(&value, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, window);
            MPI_Win_flush(0, window);
            MPI_Send(&turn, 1, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
            work(ms);
            COMES(MPI_Win_unlock(0, window)); /* line HELD */
        } else if (rank == 1) {
            MPI_Recv(&turn, 1, MPI_CHAR, late, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            WAITS(lock_and_put());
        }
        MPI_Barrier(MPI_COMM_WORLD); /* line AFTER_LOCK */
    }
    MPI_Win_free(&window);
}

static void start_and_put(MPI_Group group)
{
    MPI_Win_start(group, 0, window);                                /* line START */
    MPI_Put(&value, 1, MPI_DOUBLE, late, 0, 1, MPI_DOUBLE, window); /* line START_PUT */
    MPI_Win_complete(window);                                       /* line COMPLETE */
}

static MPI_Group group_of(int who)
{
    MPI_Group all, group;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &who, &group);
    MPI_Group_free(&all);
    return group;
}

static void late_post(void)
{
    make_window();
    MPI_Group other = group_of(rank == late ? 0 : late);
    EACH_STEP {
        if (rank == late) {
            work(ms);
            COMES(MPI_Win_post(other, 0, window)); /* line POST */
            MPI_Win_wait(window);
        } else if (rank == 0) {
            WAITS(start_and_put(other));
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Group_free(&other);
    MPI_Win_free(&window);
}

static void late_complete(void)
{
    make_window();
    MPI_Group other = group_of(rank == late ? 0 : late);
    EACH_STEP {
        if (rank == late) {
            MPI_Win_start(other, 0, window);
            MPI_Put(&value, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, window);
            work(ms);
            COMES(MPI_Win_complete(window)); /* line LATE_COMPLETE */
        } else if (rank == 0) {
            MPI_Win_post(other, 0, window);
            WAITS(MPI_Win_wait(window)); /* line WIN_WAIT */
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Group_free(&other);
    MPI_Win_free(&window);
}

static void fence(void)
{
    make_window();
    MPI_Win_fence(0, window);
    EACH_STEP {
        late_works();
        MPI_Put(&value, 1, MPI_DOUBLE, (rank + 1) % size, 0, 1, MPI_DOUBLE, window);
        MEETS(MPI_Win_fence(0, window)); /* line FENCE */
    }
    MPI_Win_free(&window);
}

/* Healthy: all do as much between fences. */
static void fences(void)
{
    make_window();
    MPI_Win_fence(0, window);
    EACH_STEP {
        work(10);
        MPI_Put(&value, 1, MPI_DOUBLE, (rank + 1) % size, 0, 1, MPI_DOUBLE, window);
        MPI_Win_fence(0, window);
    }
    MPI_Win_free(&window);
}

PROBLEMS({"lock_held", lock_held}, {"late_post", late_post}, {"late_complete", late_complete}, {"fence", fence},
         {"fences", fences})
