! The calls of calls.c, in Fortran: compiled with USE_MPIF_H, USE_MPI or USE_MPI_F08. Both programs make the same
! calls in the same order, check what they get, and print the same. In mpi_f08 about half of the calls leave out ierror.
!
! How often it takes until a test succeeds differs between runs, so the number of tests is printed.
#if defined(USE_MPI_F08)
#define COMM type(MPI_Comm)
#define REQUEST type(MPI_Request)
#define MESSAGE type(MPI_Message)
#define STATUS type(MPI_Status)
#define STATUSES(s, n) type(MPI_Status) :: s(n)
#define DATATYPE type(MPI_Datatype)
#define WIN type(MPI_Win)
#define SOURCE_OF(s) s%MPI_SOURCE
#define TAG_OF(s) s%MPI_TAG
#define SOURCE_AT(s, i) s(i)%MPI_SOURCE
#define TAG_AT(s, i) s(i)%MPI_TAG
#define LAST
#else
#define COMM integer
#define REQUEST integer
#define MESSAGE integer
#define STATUS integer, dimension(MPI_STATUS_SIZE)
#define STATUSES(s, n) integer :: s(MPI_STATUS_SIZE, n)
#define DATATYPE integer
#define WIN integer
#define SOURCE_OF(s) s(MPI_SOURCE)
#define TAG_OF(s) s(MPI_TAG)
#define SOURCE_AT(s, i) s(MPI_SOURCE, i)
#define TAG_AT(s, i) s(MPI_TAG, i)
#define LAST , ierr
#endif

program calls
#if defined(USE_MPI)
    use mpi
#elif defined(USE_MPI_F08)
    use mpi_f08
#endif
    implicit none
#if defined(USE_MPIF_H)
    include 'mpif.h'
#endif
    integer :: ierr, me, ranks, other, i, tests, total, done
    ! In static memory: MPICH 4.0 does not always put into the stack.
    integer, save, target :: values(8), sent(8)
    integer :: places(3)
    logical :: flag
    COMM :: copy, half, late, line
    REQUEST :: request, requests(3)
    MESSAGE :: found
    STATUS :: status
    STATUSES(all_statuses, 3)
    DATATYPE :: there
    WIN :: window
    integer(kind=MPI_ADDRESS_KIND) :: address, address_list(1), bytes
    integer :: lengths(1), world_sum, name_length, count
    character(len=MPI_MAX_OBJECT_NAME) :: name
    logical :: periods(1)
    integer :: dims(1)

    interface
        subroutine pause_a_while(microseconds) bind(c, name='usleep')
            use iso_c_binding, only: c_int
            integer(c_int), value :: microseconds
        end subroutine pause_a_while
    end interface

    tests = 0
    call MPI_Init(ierr)
    call check(ierr == MPI_SUCCESS, 'init')
    call MPI_Initialized(flag, ierr)
    call check(flag, 'initialized')
    call MPI_Comm_rank(MPI_COMM_WORLD, me LAST)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
    call check(ranks == 2, 'two ranks')
    other = 1 - me
    sent = [(100 * me + i, i = 1, 8)]

    ! Blocking: the messages are there before the receives.
    if (me == 0) then
        call MPI_Send(sent, 2, MPI_INTEGER, 1, 1, MPI_COMM_WORLD, ierr)
        call MPI_Send(sent, 1, MPI_INTEGER, 1, 2, MPI_COMM_WORLD LAST)
        call MPI_Send(sent, 0, MPI_INTEGER, 1, 3, MPI_COMM_WORLD, ierr)
        call MPI_Send(sent, 1, MPI_INTEGER, 1, 4, MPI_COMM_WORLD LAST)
    end if
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    if (me == 1) then
        call MPI_Recv(values, 8, MPI_INTEGER, 0, 1, MPI_COMM_WORLD, status, ierr)
        call MPI_Get_count(status, MPI_INTEGER, count, ierr)
        call check(SOURCE_OF(status) == 0 .and. TAG_OF(status) == 1 .and. count == 2, 'recv')
        call check(values(1) == 1 .and. values(2) == 2, 'received')
        call MPI_Recv(values, 8, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, status LAST)
        call check(SOURCE_OF(status) == 0 .and. TAG_OF(status) == 2, 'wildcards')
        call MPI_Recv(values, 8, MPI_INTEGER, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
        call MPI_Recv(values, 8, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE LAST)
        call check(values(1) == 1, 'ignored status')
    end if

    ! Nonblocking: the receives are there before the messages.
    do i = 1, 3
        call MPI_Irecv(values(i), 1, MPI_INTEGER, other, 10 + i, MPI_COMM_WORLD, requests(i), ierr)
    end do
    call MPI_Barrier(MPI_COMM_WORLD LAST)
    do i = 1, 3
        call MPI_Isend(sent(i), 1, MPI_INTEGER, other, 10 + i, MPI_COMM_WORLD, request LAST)
        call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
    end do
    call MPI_Waitall(3, requests, all_statuses, ierr)
    do i = 1, 3
        call check(SOURCE_AT(all_statuses, i) == other .and. TAG_AT(all_statuses, i) == 10 + i, 'waitall')
        call check(values(i) == 100 * other + i, 'waited for')
        call check(requests(i) == MPI_REQUEST_NULL, 'null after waitall')
    end do
    call post(20)
    call MPI_Waitall(3, requests, MPI_STATUSES_IGNORE LAST)
    call received('waitall without statuses')

    ! Each way of completion.
    call post(30)
    do i = 1, 3
        call MPI_Waitany(3, requests, done, status, ierr)
        call check(is_index(TAG_OF(status) - 30, done), 'waitany index')
    end do
    call MPI_Waitany(3, requests, done, MPI_STATUS_IGNORE, ierr)
    ! MPICH 4.0 adds one to this too.
    call check(done == MPI_UNDEFINED .or. done == MPI_UNDEFINED + 1, 'waitany without requests')
    call received('waitany')
    call post(40)
    total = 0
    do while (total < 3)
        tests = tests + 1
        call MPI_Waitsome(3, requests, done, places, all_statuses, ierr)
        do i = 1, done
            call check(is_index(TAG_AT(all_statuses, i) - 40, places(i)), 'waitsome index')
        end do
        total = total + done
    end do
    call received('waitsome')
    call post(50)
    flag = .false.
    do while (.not. flag)
        tests = tests + 1
        call MPI_Testall(3, requests, flag, MPI_STATUSES_IGNORE, ierr)
        if (.not. flag) call pause_a_while(100)
    end do
    call received('testall')
    call post(60)
    total = 0
    do while (total < 3)
        tests = tests + 1
        call MPI_Testsome(3, requests, done, places, MPI_STATUSES_IGNORE LAST)
        if (done == 0) call pause_a_while(100)
        total = total + done
    end do
    call received('testsome')
    call post(70)
    total = 0
    do while (total < 3)
        tests = tests + 1
        call MPI_Testany(3, requests, done, flag, status, ierr)
        if (flag) call check(is_index(TAG_OF(status) - 70, done), 'testany index')
        if (flag) total = total + 1
        if (.not. flag) call pause_a_while(100)
    end do
    call received('testany')
    call post(80)
    do i = 1, 3
        flag = .false.
        do while (.not. flag)
            tests = tests + 1
            call MPI_Test(requests(i), flag, MPI_STATUS_IGNORE, ierr)
            if (.not. flag) call pause_a_while(100)
        end do
    end do
    call received('test')

    ! Persistent requests.
    call MPI_Recv_init(values(1), 1, MPI_INTEGER, other, 90, MPI_COMM_WORLD, requests(1), ierr)
    call MPI_Send_init(sent(1), 1, MPI_INTEGER, other, 90, MPI_COMM_WORLD, requests(2), ierr)
    do i = 1, 3
        values(1) = 0
        call MPI_Start(requests(1), ierr)
        call MPI_Barrier(MPI_COMM_WORLD, ierr)
        call MPI_Start(requests(2) LAST)
        call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
        call check(values(1) == 100 * other + 1, 'persistent')
    end do
    call MPI_Startall(2, requests, ierr)
    call MPI_Wait(requests(1), status, ierr)
    call check(SOURCE_OF(status) == other .and. TAG_OF(status) == 90, 'started together')
    call MPI_Wait(requests(2), MPI_STATUS_IGNORE, ierr)
    call MPI_Request_free(requests(1), ierr)
    call MPI_Request_free(requests(2) LAST)
    call check(requests(1) == MPI_REQUEST_NULL, 'freed')

    ! Both directions in one call.
    call MPI_Sendrecv(sent(1), 1, MPI_INTEGER, other, 100, values(1), 1, MPI_INTEGER, other, 100, MPI_COMM_WORLD, status, ierr)
    call check(values(1) == 100 * other + 1 .and. TAG_OF(status) == 100, 'sendrecv')
    values(1) = me
    call MPI_Sendrecv_replace(values, 1, MPI_INTEGER, other, 101, other, 101, MPI_COMM_WORLD, MPI_STATUS_IGNORE LAST)
    call check(values(1) == other, 'sendrecv_replace')

    ! Probes.
    call MPI_Send(sent(3), 1, MPI_INTEGER, other, 110, MPI_COMM_WORLD, ierr)
    call MPI_Probe(MPI_ANY_SOURCE, 110, MPI_COMM_WORLD, status, ierr)
    call check(SOURCE_OF(status) == other, 'probe')
    call MPI_Iprobe(other, 110, MPI_COMM_WORLD, flag, MPI_STATUS_IGNORE LAST)
    call check(flag, 'iprobe finds')
    call MPI_Iprobe(other, 111, MPI_COMM_WORLD, flag, status, ierr)
    call check(.not. flag, 'iprobe finds nothing')
    call MPI_Mprobe(other, 110, MPI_COMM_WORLD, found, status, ierr)
    call MPI_Mrecv(values, 1, MPI_INTEGER, found, MPI_STATUS_IGNORE, ierr)
    call check(values(1) == 100 * other + 3, 'mrecv')

    ! A receive that is cancelled.
    call MPI_Irecv(values, 1, MPI_INTEGER, other, 999, MPI_COMM_WORLD, request, ierr)
    call MPI_Cancel(request, ierr)
    call MPI_Wait(request, status, ierr)
    call MPI_Test_cancelled(status, flag, ierr)
    call check(flag, 'cancelled')

    ! Sentinels: in place, and absolute addresses.
    world_sum = me + 1
    call MPI_Allreduce(MPI_IN_PLACE, world_sum, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    call check(world_sum == 3, 'in place')
    call MPI_Get_address(values(5), address, ierr)
    lengths(1) = 2
    address_list(1) = address
    call MPI_Type_create_hindexed(1, lengths, address_list, MPI_INTEGER, there, ierr)
    call MPI_Type_commit(there, ierr)
    values(5:6) = [me, 7]
    call MPI_Sendrecv_replace(MPI_BOTTOM, 1, there, other, 120, other, 120, MPI_COMM_WORLD, status LAST)
    call check(values(5) == other .and. values(6) == 7, 'bottom')
    call MPI_Type_free(there, ierr)

    ! Communicators, each with messages of its own.
    call MPI_Comm_dup(MPI_COMM_WORLD, copy, ierr)
    call exchange(copy, other)
    call MPI_Comm_split(copy, 0, -me, half LAST)
    call exchange(half, me)
    call MPI_Comm_idup(half, late, request, ierr)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
    call exchange(late, me)
    dims(1) = 2
    periods(1) = .true.
    call MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, .false., line, ierr)
    call exchange(line, other)
    call MPI_Comm_set_name(line, 'a line of two', ierr)
    call MPI_Comm_get_name(line, name, name_length, ierr)
    call check(name_length == 13 .and. name(1:13) == 'a line of two', 'names')
    call MPI_Comm_free(line, ierr)
    call MPI_Comm_free(late, ierr)
    call MPI_Comm_free(half LAST)
    call MPI_Comm_free(copy, ierr)

    ! A window.
    bytes = 32
    call MPI_Win_create(values, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, window, ierr)
    call MPI_Win_fence(0, window, ierr)
    address = 0
    call MPI_Put(sent(2), 1, MPI_INTEGER, other, address, 1, MPI_INTEGER, window, ierr)
    call MPI_Win_fence(0, window LAST)
    call check(values(1) == 100 * other + 2, 'put')
    call MPI_Win_free(window, ierr)

    call MPI_Reduce(tests, total, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, ierr)
    if (me == 0) write (*, '(a,i0/a)') 'tests ', total, 'OK'
    call MPI_Finalize(ierr)

contains

    subroutine check(condition, what)
        logical, intent(in) :: condition
        character(len=*), intent(in) :: what
        if (.not. condition) then
            write (0, '(a,i0,2a)') 'rank ', me, ': not true: ', what
            call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
        end if
    end subroutine check

    ! Whether this index is that of this request. The mpi_f08 of MPICH 4.0 counts from zero.
    logical function is_index(which, index)
        integer, intent(in) :: which, index
        is_index = index == which .or. index == which - 1
    end function is_index

    ! Three receives that meet three messages sent after a barrier.
    subroutine post(tag)
        integer, intent(in) :: tag
        integer :: j, failed
        values(1:3) = 0
        do j = 1, 3
            call MPI_Irecv(values(j), 1, MPI_INTEGER, other, tag + j, MPI_COMM_WORLD, requests(j), failed)
        end do
        call MPI_Barrier(MPI_COMM_WORLD, failed)
        do j = 3, 1, -1
            call MPI_Send(sent(j), 1, MPI_INTEGER, other, tag + j, MPI_COMM_WORLD, failed)
        end do
    end subroutine post

    subroutine received(what)
        character(len=*), intent(in) :: what
        integer :: j
        do j = 1, 3
            call check(values(j) == 100 * other + j, what)
            call check(requests(j) == MPI_REQUEST_NULL, what)
        end do
    end subroutine received

    ! One message each way in another communicator, where the other process has this rank.
    subroutine exchange(within, peer)
        COMM, intent(in) :: within
        integer, intent(in) :: peer
        integer :: failed
        REQUEST :: coming
        call MPI_Irecv(values, 1, MPI_INTEGER, MPI_ANY_SOURCE, 5, within, coming, failed)
        call MPI_Barrier(within, failed)
        call MPI_Send(sent(4), 1, MPI_INTEGER, peer, 5, within, failed)
        call MPI_Wait(coming, status, failed)
        call check(values(1) == 100 * other + 4 .and. SOURCE_OF(status) == peer, 'exchange')
    end subroutine exchange
end program calls
