//! Other spellings of a subroutine: `mpi_send__`, `mpi_send` and `MPI_SEND`, as compilers other than
//! the usual ones make them.
//!
//! Such names may belong to others: a library may have a function `mpi_init` that is no subroutine of
//! MPI. So each is a jump through a table. At the first call it is found out whose the next symbol of
//! that name is: where the library that has it has `mpi_send_` too, the jump goes to our wrapper of
//! that; else to the symbol, with all registers and the stack as they came.

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

/// Finds out where this spelling leads, given our way of the usual one.
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

/// What a spelling does at its first call: `r11` is its place in [`TARGETS`], `r10` our way of the usual one.
/// Keeps every register that can hold an argument.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
pub(super) unsafe extern "C" fn first_call() {
    // Seven words and 128 bytes, so that the stack is aligned to 16 as the call wants it.
    std::arch::naked_asm!(
        "push rax",
        "push rdi",
        "push rsi",
        "push rdx",
        "push rcx",
        "push r8",
        "push r9",
        "sub rsp, 128",
        "movups [rsp], xmm0",
        "movups [rsp + 16], xmm1",
        "movups [rsp + 32], xmm2",
        "movups [rsp + 48], xmm3",
        "movups [rsp + 64], xmm4",
        "movups [rsp + 80], xmm5",
        "movups [rsp + 96], xmm6",
        "movups [rsp + 112], xmm7",
        "mov rdi, r11",
        "mov rsi, r10",
        "call {find}",
        "mov r11, rax",
        "movups xmm0, [rsp]",
        "movups xmm1, [rsp + 16]",
        "movups xmm2, [rsp + 32]",
        "movups xmm3, [rsp + 48]",
        "movups xmm4, [rsp + 64]",
        "movups xmm5, [rsp + 80]",
        "movups xmm6, [rsp + 96]",
        "movups xmm7, [rsp + 112]",
        "add rsp, 128",
        "pop r9",
        "pop r8",
        "pop rcx",
        "pop rdx",
        "pop rsi",
        "pop rdi",
        "pop rax",
        "jmp r11",
        find = sym find,
    )
}

/// The other spellings of one subroutine, beside `attended`, the way of the usual one.
macro_rules! spellings {
    ($id:ident []) => {};
    ($id:ident [$double:ident $bare:ident $upper:ident]) => {
        $crate::fortran::spellings::spelling!($id 0 $double);
        $crate::fortran::spellings::spelling!($id 1 $bare);
        $crate::fortran::spellings::spelling!($id 2 $upper);
    };
}
pub(super) use spellings;

/// One of them. Only where it can be done by hand: no compiler for another processor spells so.
macro_rules! spelling {
    ($id:ident $which:literal $spelling:ident) => {
        #[cfg(target_arch = "x86_64")]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C-unwind" fn $spelling() {
            std::arch::naked_asm!(
                "mov r11, qword ptr [rip + {targets} + {offset}]",
                "test r11, r11",
                "jz 2f",
                "jmp r11",
                "2:",
                "mov r11d, {place}",
                "lea r10, [rip + {attended}]",
                "jmp {first_call}",
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
