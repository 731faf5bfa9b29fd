! A late sender in Fortran: rank 1 sends every 20 ms.
!
! ranks: 2
! default: rule=late_sender cause=1 site=RECV cause_site=SEND lost=0.40 victims=0
! exact: rule=late_standard_send cause=1 site=RECV cause_site=SEND lost=0.40 victims=0 count=20
program fortran_late_sender
    use, intrinsic :: iso_c_binding
#ifdef USE_MPI_F08
    use mpi_f08
#endif
#ifdef USE_MPI
    use mpi
#endif
    implicit none
#ifdef USE_MPIF_H
    include 'mpif.h'
#endif
    interface
        integer(c_int) function usleep(microseconds) bind(c)
            import :: c_int
            integer(c_int), value :: microseconds
        end function
    end interface
    double precision :: value
    integer :: rank, ierror, step
    integer(8) :: begin, now, rate

    call MPI_Init(ierror)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call system_clock(begin, rate)
    value = 0
    do step = 1, 20
        if (rank == 0) then
            call MPI_Recv(value, 1, MPI_DOUBLE_PRECISION, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror) ! line RECV
        else
            call work_until(20 * step)
            call MPI_Send(value, 1, MPI_DOUBLE_PRECISION, 0, 0, MPI_COMM_WORLD, ierror) ! line SEND
        end if
    end do
    call MPI_Finalize(ierror)

contains

    ! Sleeps until so many milliseconds after the begin: where a sleep takes longer, the next is shorter.
    subroutine work_until(milliseconds)
        integer, intent(in) :: milliseconds
        integer(c_int) :: left
        call system_clock(now)
        left = int(1000_8 * milliseconds - (now - begin) * 1000000_8 / rate, c_int)
        if (left > 0) left = usleep(left)
    end subroutine
end program fortran_late_sender
