//! `MPI_Pcontrol`: variadic, so that its further arguments, which may be for another tool in the chain, can be passed on
//! only as they came, by a jump. Hooks see the whole call before that.
//!
//! Unlike other calls it may come at any time, before `MPI_Init` too.

use std::{ffi::c_int, sync::atomic::Ordering::Relaxed};

use crate::{
    Call, FunctionId, args,
    depth::Depth,
    dispatch::{self, SHARED, UNRESOLVED},
    lifecycle,
};

/// Lets the hooks see the call, where there are any.
pub(crate) extern "C" fn attend(level: c_int) {
    if SHARED.state.load(Relaxed) == UNRESOLVED {
        lifecycle::resolve();
    }
    let here = crate::depth::stack();
    if dispatch::is_active(FunctionId::Pcontrol, here)
        && let Some(depth) = Depth::enter_from_top(FunctionId::Pcontrol, here)
    {
        show(&depth, level);
    }
}

/// Lets the hooks see the call at both of its ends.
pub(crate) fn show(depth: &Depth, level: c_int) {
    let mut arguments = args::Pcontrol { level };
    let entered = dispatch::enter(depth, FunctionId::Pcontrol, &mut Call::Pcontrol(&mut arguments));
    let success = mpi_abi::Abi::current().map_or(0, |abi| abi.constants.success);
    dispatch::leave(depth, entered, FunctionId::Pcontrol, &mut Call::Pcontrol(&mut arguments), success);
}

/// The symbol. Without hooks a jump, as for every other function.
macro_rules! symbol {
    ($symbol:ident = $id:ident) => {
        #[cfg(target_arch = "x86_64")]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C-unwind" fn $symbol(level: c_int) -> c_int {
            // Registers and stack are as they came when it jumps on.
            std::arch::naked_asm!(
                "cmp byte ptr [rip + {shared} + {state}], {idle}",
                "je 2f",
                $crate::registers::save_arguments!(),
                "call {attend}",
                $crate::registers::restore_arguments!(),
                "2:",
                "jmp qword ptr [rip + {next} + {offset}]",
                shared = sym $crate::dispatch::SHARED,
                state = const std::mem::offset_of!($crate::dispatch::Shared, state),
                idle = const $crate::dispatch::IDLE,
                attend = sym $crate::pcontrol::attend,
                next = sym $crate::wrapper::FUNCTIONS,
                offset = const FunctionId::$id as usize * size_of::<$crate::wrapper::Function>()
                    + std::mem::offset_of!($crate::wrapper::Function, next),
            )
        }

        /// Without the further arguments, which no MPI reads.
        #[cfg(not(target_arch = "x86_64"))]
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $symbol(level: c_int) -> c_int {
            type Signature = unsafe extern "C-unwind" fn(c_int) -> c_int;
            $crate::pcontrol::attend(level);
            let address = $crate::wrapper::FUNCTIONS[FunctionId::$id as usize].next.load(std::sync::atomic::Ordering::Relaxed);
            // SAFETY: resolved by now; the next function of this name begins with this parameter.
            unsafe { std::mem::transmute::<*mut c_void, Signature>(address)(level) }
        }
    };
}
pub(crate) use symbol;
