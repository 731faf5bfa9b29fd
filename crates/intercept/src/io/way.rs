//! How an interposed function begins, and how the function behind it is found: instructions that leave registers, stack and `errno` as
//! they came, so that one form serves functions of any arguments. x86-64 only.

/// Functions that go on to `$observed` when `$listens` is not 0 and code of the MPI library has called them, and to the function behind
/// them, in its place of `$next`, otherwise.
macro_rules! interpose {
    ($listens:ident, $next:ident: $($number:literal $name:ident -> $observed:ident;)*) => {$(
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            // Six registers hold arguments; with one more word the stack is aligned to 16 bytes at the call. Above them is
            // the caller's address.
            std::arch::naked_asm!(
                "cmp byte ptr [rip + {listens}], 0
                jne 2f
                jmp qword ptr [rip + {next} + {offset}]
                2:",
                $crate::registers::save_integers!(),
                "sub rsp, 8
                mov rdi, qword ptr [rsp + 56]
                call {is_of_mpi}
                add rsp, 8",
                $crate::registers::restore_integers!(),
                "test al, al
                jne {observed}
                jmp qword ptr [rip + {next} + {offset}]",
                listens = sym $listens,
                next = sym $next,
                offset = const $number * 8,
                is_of_mpi = sym $crate::io::is_of_mpi,
                observed = sym $observed,
            )
        }
    )*};
}

/// `find_next::<N>`: the first call of function `N`. It lets `$resolve` find the function behind it, from the number and the caller's
/// address, for its place of `$next`, and goes on to it with the arguments as they came.
macro_rules! find_next {
    ($resolve:ident, $next:ident) => {
        #[unsafe(naked)]
        unsafe extern "C" fn find_next<const NUMBER: usize>() {
            // Six registers hold arguments; with one more word the stack is aligned to 16 bytes at the call. Above them is
            // the caller's address.
            std::arch::naked_asm!(
                $crate::registers::save_integers!(),
                "sub rsp, 8
                mov edi, {number}
                mov rsi, qword ptr [rsp + 56]
                call {resolve}
                add rsp, 8",
                $crate::registers::restore_integers!(),
                "jmp qword ptr [rip + {next} + {offset}]",
                number = const NUMBER,
                offset = const NUMBER * 8,
                resolve = sym $resolve,
                next = sym $next,
            )
        }
    };
}

pub(super) use {find_next, interpose};
