! Names its regions: two messages in one, three in the one inside of it.
#include "../../../include/mel.f90"

program regions
#if defined(USE_MPI_F08)
  use mpi_f08
#elif defined(USE_MPI)
  use mpi
#endif
  use mel
  implicit none
#ifdef USE_MPIF_H
  include 'mpif.h'
#endif
  integer :: ierror
  call MPI_Init(ierror)
  call mel_region_begin("outer   ")
  call exchange(2)
  call mel_region_begin("inner")
  call exchange(3)
  call mel_region_end("inner")
  call mel_region_end("outer")
  call MPI_Finalize(ierror)
  print *, "OK"
contains
  subroutine exchange(messages)
    integer, intent(in) :: messages
    integer :: i, rank, buffer
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
    do i = 1, messages
      buffer = i
      if (rank == 0) call MPI_Send(buffer, 1, MPI_INTEGER, 1, 1, MPI_COMM_WORLD, ierror)
      if (rank == 1) call MPI_Recv(buffer, 1, MPI_INTEGER, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
    end do
  end subroutine
end program
