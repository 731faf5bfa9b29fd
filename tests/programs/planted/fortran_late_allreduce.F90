! A slow rank in Fortran: rank 1 comes 20 ms late to each MPI_Allreduce.
!
! ranks: 4
! default: rule=wait_at_nxn cause=1 site=REDUCE cause_site=REDUCE lost=0.60 victims=0,2,3
! exact: rule=wait_at_nxn cause=1 site=REDUCE cause_site=REDUCE lost=0.60 victims=0,2,3 count=30
program fortran_late_allreduce
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
    double precision :: mine, total
    integer :: rank, ierror, step
    integer(8) :: begin, now, rate

    call MPI_Init(ierror)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call system_clock(begin, rate)
    mine = 1
    do step = 1, 10
        if (rank == 1) call work_until(20 * step)
        call MPI_Allreduce(mine, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierror) ! line REDUCE
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
end program fortran_late_allreduce
