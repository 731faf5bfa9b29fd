! The phases of named_phases.c, in Fortran: rank 0 sends rank 1 10 messages in "first" and 20 in "second"; 7 while counting is stopped.
#include "../../../include/mel.f90"

program named_phases
  use mel
  use mpi
  implicit none
  integer :: rank, error
  call mel_phase("first")
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call exchange(10)
  call mel_phase("second    ")
  call exchange(20)
  call mel_stop()
  call exchange(7)
  call mel_start()
  call MPI_Finalize(error)
  if (rank == 0) print *, "OK"

contains

  subroutine exchange(messages)
    integer, intent(in) :: messages
    integer :: i, buffer(1)
    do i = 1, messages
      buffer = i
      if (rank == 0) call MPI_Send(buffer, 1, MPI_INTEGER, 1, 1, MPI_COMM_WORLD, error)
      if (rank == 1) call MPI_Recv(buffer, 1, MPI_INTEGER, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
    end do
  end subroutine

end program
