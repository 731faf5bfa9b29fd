! A put, a get with a request, and a lock, by whichever interface is chosen: window events as from C.
program windows
#ifdef USE_MPI_F08
    use mpi_f08
    implicit none
    type(MPI_Win) :: win
    type(MPI_Request) :: request
#endif
#ifdef USE_MPI
    use mpi
    implicit none
    integer :: win, request
#endif
#ifdef USE_MPIF_H
    implicit none
    include 'mpif.h'
    integer :: win, request
#endif
    integer(8), save :: memory(8)
    integer(8), save :: value, got
    integer :: rank, ierror
    integer(MPI_ADDRESS_KIND) :: length, displacement

    call MPI_Init(ierror)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
    memory = rank
    value = 42
    length = 64
    call MPI_Win_create(memory, length, 8, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierror)
    displacement = 3
    call MPI_Win_fence(0, win, ierror)
    if (rank == 0) call MPI_Put(value, 1, MPI_INTEGER8, 1, displacement, 1, MPI_INTEGER8, win, ierror)
    call MPI_Win_fence(MPI_MODE_NOSUCCEED, win, ierror)
    if (rank == 1 .and. memory(4) /= 42) call MPI_Abort(MPI_COMM_WORLD, 1, ierror)
    if (rank == 0) then
        call MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win, ierror)
        call MPI_Rget(got, 1, MPI_INTEGER8, 1, displacement, 1, MPI_INTEGER8, win, request, ierror)
        call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
        if (got /= 42) call MPI_Abort(MPI_COMM_WORLD, 2, ierror)
        call MPI_Win_unlock(1, win, ierror)
    end if
    call MPI_Win_free(win, ierror)
    call MPI_Finalize(ierror)
end program windows
