! Waits for messages in one way, or, with "right" after it, does the same without the mistake and ends.
!
! Each case is one line here: its name, how many ranks, the kind of what is found, who waits, for whom, and words of the sentence.
! The lines of the calls that wait have the name of the case behind them.
!
!   receives   2  cycle      0,1      -    tag 1 of rank 1
!   requests   3  cycle      0,2      -    MPI_Waitall
!   tag        2  differs    0        1    the two differ in the tag alone
!   barrier    3  outside    0,2      1    their 1st operation on MPI_COMM_WORLD
program stuck
#if defined(USE_MPI)
  use mpi
#elif defined(USE_MPI_F08)
  use mpi_f08
#endif
  implicit none
#if defined(USE_MPIF_H)
  include 'mpif.h'
#endif
#if defined(USE_MPI_F08)
  type(MPI_Request) :: requests(2)
#else
  integer :: requests(2)
#endif
  integer :: rank, other, error, tag
  integer, save :: first(1), second(1)
  integer, volatile :: never
  character(len=16) :: kind, word
  logical :: right
  call get_command_argument(1, kind)
  call get_command_argument(2, word)
  right = word == "right"
  never = 0
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  other = 1 - rank
  select case (kind)
  case ("receives")
    if (right .and. rank == 0) call send(1, 1)
    call MPI_Recv(first, 1, MPI_INTEGER, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error) ! receives
    if (.not. right .or. rank == 1) call send(other, 1)
  case ("requests")
    if (rank == 0) then
      if (right) call send(2, 1)
      call MPI_Irecv(first, 1, MPI_INTEGER, 1, 1, MPI_COMM_WORLD, requests(1), error)
      call MPI_Irecv(second, 1, MPI_INTEGER, 2, 1, MPI_COMM_WORLD, requests(2), error)
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error) ! requests
      if (.not. right) call send(2, 1)
    else
      if (rank == 2) call MPI_Recv(first, 1, MPI_INTEGER, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
      call send(0, 1)
    end if
  case ("tag")
    tag = 7
    if (right) tag = 8
    if (rank == 1) call send(0, tag)
    if (rank == 0) call MPI_Recv(first, 1, MPI_INTEGER, 1, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error) ! tag
  case ("barrier")
    if (rank == 1 .and. .not. right) then
      do while (never == 0)
        call sleep(1)
      end do
    end if
    call MPI_Barrier(MPI_COMM_WORLD, error) ! barrier
  end select
  call MPI_Finalize(error)
  if (rank == 0) print *, "OK"

contains

  subroutine send(peer, tag)
    integer, intent(in) :: peer, tag
    integer :: value(1)
    value = 0
    call MPI_Send(value, 1, MPI_INTEGER, peer, tag, MPI_COMM_WORLD, error)
  end subroutine

end program
