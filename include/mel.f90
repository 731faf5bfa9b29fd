!> Phases of a program, for MEL: what `mel run` counts is counted by phase. Compile this file with the program.
!>
!>     use mel
!>     call mel_phase("solve")
!>
!> Nothing is linked: the functions of MEL are looked up when the program calls one. Without MEL that is all that happens. (Where the
!> C library is glibc before 2.34, link with `-ldl`.) `mel.h` says what each does, and by which threads they may be called.
module mel
  use, intrinsic :: iso_c_binding
  implicit none
  private
  public :: mel_phase, mel_stop, mel_start, mel_reset, mel_sample
  public :: mel_region_begin, mel_region_end

  interface
    function mel_dlsym(handle, name) bind(C, name="dlsym") result(address)
      import :: c_ptr, c_funptr, c_char
      type(c_ptr), value :: handle
      character(kind=c_char), intent(in) :: name(*)
      type(c_funptr) :: address
    end function
  end interface

  abstract interface
    subroutine mel_with_name(name) bind(C)
      import :: c_char
      character(kind=c_char), intent(in) :: name(*)
    end subroutine
    subroutine mel_without_name() bind(C)
    end subroutine
  end interface

contains

  !> The function of this name, or a null pointer.
  function mel_find(name) result(address)
    character(len=*), intent(in) :: name
    type(c_funptr) :: address
    ! RTLD_DEFAULT is null.
    address = mel_dlsym(c_null_ptr, name // c_null_char)
  end function

  subroutine mel_call(name)
    character(len=*), intent(in) :: name
    type(c_funptr) :: address
    procedure(mel_without_name), pointer :: found
    address = mel_find(name)
    if (c_associated(address)) then
      call c_f_procpointer(address, found)
      call found()
    end if
  end subroutine

  !> The phase of this name begins, or goes on; blanks at its end do not count.
  subroutine mel_phase(name)
    character(len=*), intent(in) :: name
    type(c_funptr) :: address
    procedure(mel_with_name), pointer :: found
    address = mel_find("mel_phase")
    if (c_associated(address)) then
      call c_f_procpointer(address, found)
      call found(trim(name) // c_null_char)
    end if
  end subroutine

  !> Nothing is counted from now on, until mel_start.
  subroutine mel_stop()
    call mel_call("mel_stop")
  end subroutine

  !> What the program does is counted again.
  subroutine mel_start()
    call mel_call("mel_start")
  end subroutine

  !> What was counted until now is set to zero, in all phases.
  subroutine mel_reset()
    call mel_call("mel_reset")
  end subroutine

  !> A sample of the performance variables that are sampled is taken now.
  subroutine mel_sample()
    call mel_call("mel_sample")
  end subroutine

  subroutine mel_call_with(function_name, name)
    character(len=*), intent(in) :: function_name, name
    type(c_funptr) :: address
    procedure(mel_with_name), pointer :: found
    address = mel_find(function_name)
    if (c_associated(address)) then
      call c_f_procpointer(address, found)
      call found(trim(name) // c_null_char)
    end if
  end subroutine

  !> A region of this name begins in the calling thread, inside of the one that it is in; blanks at its end do not count.
  subroutine mel_region_begin(name)
    character(len=*), intent(in) :: name
    call mel_call_with("mel_region_begin", name)
  end subroutine

  !> The region of this name ends in the calling thread: the one that was begun last.
  subroutine mel_region_end(name)
    character(len=*), intent(in) :: name
    call mel_call_with("mel_region_end", name)
  end subroutine

end module
