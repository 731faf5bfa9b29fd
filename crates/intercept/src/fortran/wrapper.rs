//! The wrapper of a Fortran subroutine: hand-written once, applied by `generated.rs`.

use std::{
    ffi::{CStr, c_int, c_void},
    sync::atomic::{AtomicBool, AtomicPtr, Ordering},
};

use mpi_abi::next;

use super::mpi::Mpi;
use crate::{FunctionId, depth::Depth, dispatch, hook, lifecycle, pcontrol};

/// An interposed name of a subroutine.
#[repr(C)]
pub(super) struct Symbol {
    /// Where it jumps to: first to `attended`, then to the next symbol of its name. Assembly reads it,
    /// so it comes first.
    pub(super) next: AtomicPtr<c_void>,
    /// Its own way with more to do than to jump.
    pub(super) attended: *const (),
    /// Whether the wrappers of its layer call hooks.
    pub(super) layer: &'static AtomicBool,
    /// As the linker knows it.
    pub(super) name: &'static CStr,
}

// SAFETY: the address of a function, which is never followed as data.
unsafe impl Sync for Symbol {}

impl Symbol {
    /// The next symbol, resolved at the first call; where there is none, the process ends as it would without
    /// us.
    #[inline]
    pub(super) fn next(&self) -> *mut c_void {
        let known = self.next.load(Ordering::Relaxed);
        if known.cast_const().cast() == self.attended { self.resolve() } else { known }
    }

    #[cold]
    fn resolve(&self) -> *mut c_void {
        let found = next::next_fortran(self.name);
        if found.is_null() {
            lifecycle::end_process(&self.name.to_string_lossy());
        }
        self.next.store(found, Ordering::Relaxed);
        found
    }
}

/// Whether hooks are to see this call, whose arguments will be at this place of the stack: they listen, and it comes from the application.
#[inline]
pub(super) fn seen(symbol: &Symbol, function: FunctionId, place: usize) -> Option<(&'static Mpi, Depth)> {
    if !symbol.layer.load(Ordering::Relaxed) || !dispatch::is_active(function, place) {
        return None;
    }
    let mpi = Mpi::get()?;
    if !mpi.fits() {
        return None;
    }
    Some((mpi, Depth::enter_from_top(function, place)?))
}

/// Whether any hook asked for this function: otherwise nothing needs to be converted.
#[inline]
pub(super) fn wanted(function: FunctionId) -> bool {
    let wanted = hook::wanted(function, hook::present());
    wanted.enter | wanted.leave != 0
}

/// Defines the wrappers.
macro_rules! wrappers {
    ($($how:ident $id:ident $names:tt $spellings:tt $parameters:tt $absent:tt $lengths:tt;)*) => {
        $(super::wrapper::wrapper!($how $id $names $spellings $parameters $absent $lengths);)*
    };
}
pub(super) use wrappers;

/// The wrapper of one subroutine, under all its names: see the module's documentation for what it
/// does and what it costs.
macro_rules! wrapper {
    (
        $how:ident $id:ident [$($layer:ident $name:ident)*] $spellings:tt
        ($($p:ident: $conversion:ty $(= $count:ident)?),*) [$($absent:ident)*] [$($length:ident)*]
    ) => {
        const _: () = {
            #[allow(unused_imports)]
            use std::{
                ffi::{c_char, c_int, c_void},
                ptr,
            };
            #[allow(unused_imports)]
            use mpi_abi::{
                Comm, Datatype, Errhandler, File, Group, HandlePtr, Info, Message, Op, Request, Session, Win,
            };
            #[allow(unused_imports)]
            use $crate::{
                Call, FunctionId, args, dispatch,
                fortran::{
                    convert::*,
                    wrapper::{Symbol, seen, wanted},
                },
            };
            type Signature = unsafe extern "C-unwind" fn(
                $($crate::fortran::wrapper::as_type!($p *mut c_void),)*
                *mut c_int,
                $($crate::fortran::wrapper::as_type!($length usize)),*
            );

            struct Converted {
                $($p: $conversion,)*
            }

            /// The path of a call that does more than jump, for all names.
            #[inline(never)]
            #[allow(unused_variables, unused_mut)]
            unsafe extern "C-unwind" fn call(
                symbol: &Symbol, $($p: *mut c_void,)* ierror: *mut c_int, $($length: usize),*
            ) {
                $crate::fortran::wrapper::start!($how);
                // SAFETY: the next symbol of this name, which has this signature.
                let next = unsafe { std::mem::transmute::<*mut c_void, Signature>(symbol.next()) };
                let mut place = std::mem::MaybeUninit::<args::$id>::uninit();
                let seen = seen(symbol, FunctionId::$id, place.as_ptr().addr());
                let Some(&(mpi, ref depth)) = seen.as_ref().filter(|_| wanted(FunctionId::$id)) else {
                    // SAFETY: the arguments are those of our caller, unchanged.
                    return unsafe { next($($p,)* ierror, $($length),*) };
                };
                // What comes with each argument. Here `$p` are still the addresses.
                let passed = PassedArguments {
                    $($p: Passed {
                        address: $p,
                        count: $crate::fortran::wrapper::count!($($count)?),
                        mpi,
                    },)*
                };
                // SAFETY: a Fortran program passes such arguments to this subroutine.
                let converted = Converted { $($p: unsafe { Conversion::before(passed.$p) },)* };
                let arguments = place.write(args::$id {
                    // SAFETY: a Fortran program passes such arguments; `converted` is not moved until the end of the call.
                    $($p: unsafe { converted.$p.field(passed.$p) },)*
                    $($absent: Nothing::NOTHING,)*
                });
                let entered = dispatch::enter(depth, FunctionId::$id, &mut Call::$id(arguments));
                if entered.is_none() {
                    // SAFETY: the arguments are those of our caller, unchanged.
                    return unsafe { next($($p,)* ierror, $($length),*) };
                }
                // The modules leave it out where the program does; the hooks want to know.
                let mut code = mpi.abi.constants.success;
                let ierror = if ierror.is_null() { &raw mut code } else { ierror };
                // SAFETY: the arguments are those of our caller, but for statuses that hooks have
                // replaced, who answer for what they put there, and the place for the error code.
                unsafe {
                    next(
                        $(<$conversion as Conversion>::pass(passed.$p, &arguments.$p),)* ierror, $($length),*
                    )
                };
                // SAFETY: MPI has set it, or it is the program's variable.
                let code = unsafe { ierror.read_unaligned() };
                let success = code == mpi.abi.constants.success;
                // SAFETY: a Fortran program passes such arguments to this subroutine.
                $(unsafe { converted.$p.after(passed.$p, success, &mut arguments.$p) };)*
                dispatch::leave(depth, entered, FunctionId::$id, &mut Call::$id(arguments), code);
            }

            struct PassedArguments {
                $($p: Passed,)*
            }

            $crate::fortran::wrapper::names!(
                $how $id $spellings [$($layer $name)*] ($($p)*) [$($length)*]
            );
        };
    };
}
pub(super) use wrapper;

/// The names of a wrapper, one after the other: the macro cannot repeat them for each argument. The
/// first has other spellings.
macro_rules! names {
    ($how:ident $id:ident $spellings:tt [] $p:tt $lengths:tt) => {};
    ($how:ident $id:ident $spellings:tt [$layer:ident $name:ident $($more:ident)*] $p:tt $lengths:tt) => {
        $crate::fortran::wrapper::name!($how $id $layer $name $spellings $p $lengths);
        $crate::fortran::wrapper::names!($how $id [] [$($more)*] $p $lengths);
    };
}
pub(super) use names;

/// One name: decides between the jump and the attended way.
macro_rules! name {
    (
        $how:ident $id:ident $layer:ident $name:ident $spellings:tt ($($p:ident)*) [$($length:ident)*]
    ) => {
        const _: () = {
            static SYMBOL: Symbol = Symbol {
                next: std::sync::atomic::AtomicPtr::new(attended as *mut c_void),
                attended: attended as *const (),
                layer: &$crate::fortran::$layer,
                name: match std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => panic!("a name holds no NUL"),
                },
            };

            unsafe extern "C-unwind" fn attended(
                $($p: *mut c_void,)* ierror: *mut c_int, $($length: usize),*
            ) {
                // SAFETY: the arguments are those of our caller, unchanged.
                unsafe { call(&SYMBOL, $($p,)* ierror, $($length),*) }
            }

            $crate::fortran::wrapper::symbol!($how $layer $name ($($p)*) [$($length)*]);
            $crate::fortran::spellings::spellings!($id $spellings);
        };
    };
}
pub(super) use name;

/// The symbol itself.
macro_rules! symbol {
    // Functions that start measurement always have more to do.
    (start $layer:ident $name:ident ($($p:ident)*) [$($length:ident)*]) => {
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name($($p: *mut c_void,)* ierror: *mut c_int, $($length: usize),*) {
            // SAFETY: the arguments are those of our caller, unchanged.
            unsafe { attended($($p,)* ierror, $($length),*) }
        }
    };
    (plain $layer:ident $name:ident ($($p:ident)*) [$($length:ident)*]) => {
        #[cfg(target_arch = "x86_64")]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C-unwind" fn $name($($p: *mut c_void,)* ierror: *mut c_int, $($length: usize),*) {
            // Touches no argument and no stack, so what it jumps to finds a call as it came, with
            // whatever hidden arguments the compiler gives. Reading a byte is an atomic relaxed load,
            // and so is reading an aligned address.
            std::arch::naked_asm!(
                $crate::depth::store_call_site!(),
                "cmp byte ptr [rip + {state}], 0",
                "jne {attended}",
                "jmp qword ptr [rip + {symbol}]",
                entered_from = const $crate::depth::FORTRAN_FROM,
                entered_at = const $crate::depth::ENTERED_AT,
                state = sym $crate::fortran::$layer,
                attended = sym attended,
                symbol = sym SYMBOL,
            )
        }

        #[cfg(not(target_arch = "x86_64"))]
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name($($p: *mut c_void,)* ierror: *mut c_int, $($length: usize),*) {
            // SAFETY: the arguments are those of our caller, unchanged.
            unsafe { attended($($p,)* ierror, $($length),*) }
        }
    };
}
pub(super) use symbol;

/// A type for each of some identifiers.
macro_rules! as_type {
    ($name:ident $type:ty) => {
        $type
    };
}
pub(super) use as_type;

/// The address of a count, null where none is needed.
macro_rules! count {
    () => {
        ptr::null_mut()
    };
    ($count:ident) => {
        $count
    };
}
pub(super) use count;

/// What a subroutine that starts measurement does first.
macro_rules! start {
    (plain) => {};
    (start) => {
        $crate::lifecycle::start()
    };
}
pub(super) use start;

// The subroutine `MPI_PCONTROL(LEVEL)`: the only one without an error code, so that it does not fit the others' wrapper.

/// The path of a call that does more than jump, for all names.
unsafe extern "C-unwind" fn call(symbol: &Symbol, level: *mut c_int) {
    type Signature = unsafe extern "C-unwind" fn(*mut c_int);
    if let Some((_, depth)) = seen(symbol, FunctionId::Pcontrol, crate::depth::stack())
        && wanted(FunctionId::Pcontrol)
        && !level.is_null()
    {
        // SAFETY: the program's integer.
        pcontrol::show(&depth, unsafe { level.read_unaligned() });
    }
    // SAFETY: the next symbol of this name, which has this signature, with the argument of our caller.
    unsafe { std::mem::transmute::<*mut c_void, Signature>(symbol.next())(level) }
}

names!(
    plain Pcontrol [mpi_pcontrol__ mpi_pcontrol MPI_PCONTROL] [F77 mpi_pcontrol_ F08 mpi_pcontrol_f08_] () []
);
