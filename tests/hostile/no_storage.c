/* The program gives null pointers where handles are read or written, and gets errors. MPICH checks all of these; Open MPI those of
 * requests; the standard ABI's library none.
 *
 * ranks: 2
 */
#include "hostile.h"

/* What MPI refuses. */
#define REFUSED(CALL) REQUIRE((CALL) != MPI_SUCCESS)

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    communicate(20);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    for (int round = 0; round < 20; round++) {
#if defined(OPEN_MPI) || defined(MPICH)
        int flag, place, places[2];
        MPI_Status statuses[2];
        REFUSED(MPI_Wait(NULL, MPI_STATUS_IGNORE));
        REFUSED(MPI_Test(NULL, &flag, MPI_STATUS_IGNORE));
        REFUSED(MPI_Waitall(2, NULL, statuses));
        REFUSED(MPI_Waitany(2, NULL, &place, statuses));
        REFUSED(MPI_Waitsome(2, NULL, &place, places, statuses));
        REFUSED(MPI_Testall(2, NULL, &flag, statuses));
        REFUSED(MPI_Testany(2, NULL, &place, &flag, statuses));
        REFUSED(MPI_Testsome(2, NULL, &place, places, statuses));
        REFUSED(MPI_Request_free(NULL));
        REFUSED(MPI_Cancel(NULL));
        REFUSED(MPI_Start(NULL));
        REFUSED(MPI_Startall(2, NULL));
#endif
#ifdef MPICH
        MPI_Comm comm = MPI_COMM_NULL;
        REFUSED(MPI_Comm_free(NULL));
        REFUSED(MPI_Comm_disconnect(NULL));
        REFUSED(MPI_Win_free(NULL));
        REFUSED(MPI_Group_free(NULL));
        REFUSED(MPI_Op_free(NULL));
        REFUSED(MPI_Info_free(NULL));
        REFUSED(MPI_Errhandler_free(NULL));
        REFUSED(MPI_Comm_dup(MPI_COMM_SELF, NULL));
        REFUSED(MPI_Comm_split(MPI_COMM_SELF, 0, 0, NULL));
        REFUSED(MPI_Isend(&round, 1, MPI_INT, 0, 0, MPI_COMM_SELF, NULL));
        REFUSED(MPI_Irecv(&round, 1, MPI_INT, 0, 0, MPI_COMM_SELF, NULL));
        REFUSED(MPI_Ibarrier(MPI_COMM_SELF, NULL));
        REFUSED(MPI_Send_init(&round, 1, MPI_INT, 0, 0, MPI_COMM_SELF, NULL));
        REFUSED(MPI_Comm_rank(MPI_COMM_SELF, NULL));
        REFUSED(MPI_Iprobe(0, 0, MPI_COMM_SELF, NULL, statuses));
        REQUIRE(comm == MPI_COMM_NULL);
#endif
    }
    communicate(20);
    return finish();
}
