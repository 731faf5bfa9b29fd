//! Saving and restoring the registers that may hold arguments, around a call that the caller does not know of.
//!
//! For the entry of a function written by hand (x86-64): seven words and 128 bytes, so that the stack is aligned to 16
//! bytes at a call. `al` is saved too: it holds the number of vector registers with arguments of a variadic function.

/// Saves those of integers and addresses: six words.
macro_rules! save_integers {
    () => {
        "push rdi
        push rsi
        push rdx
        push rcx
        push r8
        push r9"
    };
}
pub(crate) use save_integers;

/// Restores those of integers and addresses.
macro_rules! restore_integers {
    () => {
        "pop r9
        pop r8
        pop rcx
        pop rdx
        pop rsi
        pop rdi"
    };
}
pub(crate) use restore_integers;

/// Saves all.
macro_rules! save_arguments {
    () => {
        concat!(
            "push rax
        ",
            $crate::registers::save_integers!(),
            "
        sub rsp, 128
        movups [rsp], xmm0
        movups [rsp + 16], xmm1
        movups [rsp + 32], xmm2
        movups [rsp + 48], xmm3
        movups [rsp + 64], xmm4
        movups [rsp + 80], xmm5
        movups [rsp + 96], xmm6
        movups [rsp + 112], xmm7"
        )
    };
}
pub(crate) use save_arguments;

/// Restores all, and the stack.
macro_rules! restore_arguments {
    () => {
        concat!(
            "movups xmm0, [rsp]
        movups xmm1, [rsp + 16]
        movups xmm2, [rsp + 32]
        movups xmm3, [rsp + 48]
        movups xmm4, [rsp + 64]
        movups xmm5, [rsp + 80]
        movups xmm6, [rsp + 96]
        movups xmm7, [rsp + 112]
        add rsp, 128
        ",
            $crate::registers::restore_integers!(),
            "
        pop rax"
        )
    };
}
pub(crate) use restore_arguments;
