//! Other spellings of a subroutine: `mpi_send__`, `mpi_send` and `MPI_SEND`, as compilers other than
//! the usual ones make them.
//!
//! Another library may use such a name: `mpi_init` may be a function that is no subroutine of MPI. So each
//! spelling is a jump through a table. The first call finds the library of the next symbol of that name: where it has
//! `mpi_send_` too, the jump goes to our wrapper of that; else to the symbol, with all registers and the stack as they
//! came.

#![cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]

use std::{
    ffi::{CString, c_void},
    ptr,
    sync::atomic::{AtomicPtr, Ordering},
};

use mpi_abi::next;

use crate::generated::{COUNT, NAMES};

/// How many spellings there are of each name.
const SPELLINGS: usize = 3;

/// Where each spelling of each function jumps to; null until it is known.
pub(super) static TARGETS: [AtomicPtr<c_void>; SPELLINGS * COUNT] =
    [const { AtomicPtr::new(ptr::null_mut()) }; SPELLINGS * COUNT];

/// Finds the target of this spelling; `ours` is our path of the usual one.
pub(super) extern "C" fn find(place: usize, ours: *mut c_void) -> *mut c_void {
    let usual = NAMES[place / SPELLINGS].to_string_lossy().to_lowercase();
    let spelling = match place % SPELLINGS {
        0 => format!("{usual}__"),
        1 => usual.clone(),
        _ => usual.to_uppercase(),
    };
    let next = |name: String| CString::new(name).map_or(ptr::null_mut(), |name| next::next_fortran(&name));
    let object = |symbol: *mut c_void| next::base_of(symbol as usize);
    let (theirs, usual) = (next(spelling), next(format!("{usual}_")));
    let same = theirs.is_null() || (!usual.is_null() && object(theirs) == object(usual));
    let target = if same { ours } else { theirs };
    TARGETS[place].store(target, Ordering::Relaxed);
    target
}

/// What a spelling does at its first call: `r11` is its place in [`TARGETS`], `r10` our path of the usual one.
/// Keeps every register that can hold an argument.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
pub(super) unsafe extern "C" fn first_call() {
    std::arch::naked_asm!(
        crate::registers::save_arguments!(),
        "mov rdi, r11",
        "mov rsi, r10",
        "call {find}",
        "mov r11, rax",
        crate::registers::restore_arguments!(),
        "jmp r11",
        find = sym find,
    )
}

/// The other spellings of one subroutine, beside `attended`, the path of the usual one.
macro_rules! spellings {
    ($id:ident []) => {};
    ($id:ident [$double:ident $bare:ident $upper:ident]) => {
        $crate::fortran::spellings::spelling!($id 0 $double);
        $crate::fortran::spellings::spelling!($id 1 $bare);
        $crate::fortran::spellings::spelling!($id 2 $upper);
    };
}
pub(super) use spellings;

/// One of them. For x86-64 only: no compiler for another processor spells so.
macro_rules! spelling {
    ($id:ident $which:literal $spelling:ident) => {
        #[cfg(target_arch = "x86_64")]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C-unwind" fn $spelling() {
            std::arch::naked_asm!(
                $crate::depth::store_call_site!(),
                "mov r11, qword ptr [rip + {targets} + {offset}]",
                "test r11, r11",
                "jz 2f",
                "jmp r11",
                "2:",
                "mov r11d, {place}",
                "lea r10, [rip + {attended}]",
                "jmp {first_call}",
                entered_from = const $crate::depth::FORTRAN_FROM,
                entered_at = const $crate::depth::ENTERED_AT,
                targets = sym $crate::fortran::spellings::TARGETS,
                offset = const (3 * FunctionId::$id as usize + $which) * size_of::<*mut c_void>(),
                place = const 3 * FunctionId::$id as usize + $which,
                attended = sym attended,
                first_call = sym $crate::fortran::spellings::first_call,
            )
        }
    };
}
pub(super) use spelling;
