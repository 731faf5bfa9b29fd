//! The wrapper that every MPI function gets: hand-written once, applied by `generated.rs`.

use std::{
    ffi::{c_int, c_void},
    ptr,
    sync::atomic::{AtomicPtr, AtomicU16, Ordering},
};

use mpi_abi::{
    Comm, Datatype, Errhandler, File, Group, Handle, HandlePtr, Info, Message, Op, Request, Session,
    StatusPtr, Win, next,
};

use crate::generated::{COUNT, FunctionId, IDS, MISSING, NAMES};

/// What a call reads of its function. In one cache line: after a large copy our data is not in the cache.
#[repr(C, align(32))]
pub(crate) struct Function {
    /// The next function. After resolution not null: a function that does not exist is replaced by one that ends the
    /// process.
    pub(crate) next: AtomicPtr<c_void>,
    /// Where calls go that hooks are to see, if not the way of all functions ([`straight`](crate::straight)); null for none.
    pub(crate) straight: AtomicPtr<c_void>,
    /// The hooks that want its entry, as bits.
    pub(crate) enter: AtomicU16,
    /// The hooks that want its exit.
    pub(crate) leave: AtomicU16,
    /// Those of them that want to know when it was entered.
    pub(crate) timed: AtomicU16,
    /// Not zero where no hook wants its calls: they may pass by.
    pub(crate) passes: AtomicU16,
}

impl Function {
    const fn new() -> Self {
        Function {
            next: AtomicPtr::new(ptr::null_mut()),
            straight: AtomicPtr::new(ptr::null_mut()),
            enter: AtomicU16::new(0),
            leave: AtomicU16::new(0),
            timed: AtomicU16::new(0),
            passes: AtomicU16::new(0),
        }
    }
}

/// By [`FunctionId`].
pub(crate) static FUNCTIONS: [Function; COUNT] = [const { Function::new() }; COUNT];

/// Finds the next functions.
pub(crate) fn resolve_all() {
    for ((function, name), missing) in FUNCTIONS.iter().zip(NAMES).zip(MISSING) {
        let found = next::next(name);
        function.next.store(if found.is_null() { missing as *mut c_void } else { found }, Ordering::SeqCst);
    }
}

impl FunctionId {
    /// How many functions there are; identities are below this.
    pub const COUNT: usize = COUNT;

    /// The function with this number, if there is one.
    #[must_use]
    pub fn from_index(index: usize) -> Option<Self> {
        IDS.get(index).copied()
    }

    /// Its number, from 0 to [`FunctionId::COUNT`].
    #[inline]
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// What the function is. Nothing but the place in a table.
    #[inline]
    #[must_use]
    pub fn about(self) -> &'static mpi_functions::Function {
        &mpi_functions::FUNCTIONS[self.index()]
    }

    /// Its name, such as `MPI_Send`.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.about().name
    }

    /// Its name as a C string.
    #[must_use]
    pub fn c_name(self) -> &'static std::ffi::CStr {
        NAMES[self.index()]
    }

    /// Whether the MPI in use has it. Known from the first MPI call on.
    #[must_use]
    pub fn exists(self) -> bool {
        let address = FUNCTIONS[self.index()].next.load(Ordering::Relaxed);
        !address.is_null() && address != MISSING[self.index()] as *mut c_void
    }

    /// All functions, in order.
    pub fn all() -> impl Iterator<Item = Self> {
        IDS.iter().copied()
    }
}

// A function has the same number in both tables.
const _: () = {
    assert!(COUNT == mpi_functions::COUNT);
    let mut number = 0;
    while number < COUNT {
        let (here, there) = (NAMES[number].to_bytes(), mpi_functions::FUNCTIONS[number].name.as_bytes());
        assert!(here.len() == there.len());
        let mut place = 0;
        while place < here.len() {
            assert!(here[place] == there[place]);
            place += 1;
        }
        number += 1;
    }
};

/// How a field of an argument struct travels as the C type `C`.
pub(crate) trait Argument<C> {
    /// The field from what the application passed.
    fn receive(c: C) -> Self;
    /// What to pass on.
    fn pass(self) -> C;
}

impl<T> Argument<T> for T {
    #[inline(always)]
    fn receive(c: T) -> Self {
        c
    }

    #[inline(always)]
    fn pass(self) -> T {
        self
    }
}

/// A count that plain functions take as `int`. The cut is meant: a hook that makes it larger than
/// the function can take has changed the call.
impl Argument<c_int> for i64 {
    #[inline(always)]
    fn receive(c: c_int) -> Self {
        c.into()
    }

    #[inline(always)]
    fn pass(self) -> c_int {
        self as c_int
    }
}

/// A count or displacement that is an `MPI_Aint` in C.
impl Argument<isize> for i64 {
    #[inline(always)]
    fn receive(c: isize) -> Self {
        c as Self
    }

    #[inline(always)]
    fn pass(self) -> isize {
        self as isize
    }
}

macro_rules! handle_arguments {
    ($($handle:ty),*) => {$(impl Argument<usize> for $handle {
        #[inline(always)]
        fn receive(c: usize) -> Self {
            Self::from_word(c)
        }

        #[inline(always)]
        fn pass(self) -> usize {
            self.word()
        }
    })*};
}

handle_arguments!(Comm, Datatype, Errhandler, File, Group, Info, Message, Op, Request, Session, Win);

impl<H: Handle> Argument<*mut c_void> for HandlePtr<H> {
    #[inline(always)]
    fn receive(c: *mut c_void) -> Self {
        Self::new(c)
    }

    #[inline(always)]
    fn pass(self) -> *mut c_void {
        self.as_ptr()
    }
}

impl Argument<*mut c_void> for StatusPtr {
    #[inline(always)]
    fn receive(c: *mut c_void) -> Self {
        Self(c)
    }

    #[inline(always)]
    fn pass(self) -> *mut c_void {
        self.0
    }
}

/// Defines the wrappers, and the table of functions that stand for missing ones.
macro_rules! wrappers {
    ($($how:ident $symbol:ident = $id:ident: $args:ident($($p:ident: $c:ty),*);)*) => {
        pub(crate) static MISSING: [unsafe extern "C-unwind" fn() -> !; COUNT] = [
            $({
                unsafe extern "C-unwind" fn missing() -> ! {
                    crate::lifecycle::end_process(FunctionId::$id.name())
                }
                missing
            },)*
        ];
        $($crate::wrapper::wrapper!($how $symbol = $id: $args($($p: $c),*));)*
        $crate::straight::straight_ways! { $($how $symbol = $id: $args($($p: $c),*);)* }
    };
}
pub(crate) use wrappers;

/// One wrapper: see the crate's documentation for what it does and what it costs.
///
/// Handles travel as machine words, as they came: only hooks see them cleaned. The calling
/// convention lets C++ exceptions and thread cancellation pass through from MPI's callbacks.
macro_rules! wrapper {
    (variadic $symbol:ident = $id:ident: $args:ident($($p:ident: $c:ty),*)) => {
        $crate::pcontrol::symbol!($symbol = $id);
    };
    ($how:ident $symbol:ident = $id:ident: $args:ident($($p:ident: $c:ty),*)) => {
        const _: () = {
            use std::sync::atomic::Ordering::Relaxed;
            use $crate::dispatch::{self, SHARED, UNRESOLVED};
            use $crate::wrapper::FUNCTIONS;
            type Signature = unsafe extern "C-unwind" fn($($c),*) -> c_int;

            /// The real function.
            #[inline(always)]
            fn next() -> Signature {
                let address = FUNCTIONS[FunctionId::$id as usize].next.load(Relaxed);
                // SAFETY: called after resolution only, when the slot holds the next function of
                // this name, which has this signature, or one that never returns.
                unsafe { std::mem::transmute::<*mut c_void, Signature>(address) }
            }

            /// The path of a call that does more than jump.
            #[cold]
            #[inline(never)]
            unsafe extern "C-unwind" fn attended($($p: $c),*) -> c_int {
                $crate::wrapper::start!($how);
                if SHARED.state.load(Relaxed) == UNRESOLVED {
                    $crate::lifecycle::resolve();
                }
                // Where they are in memory, if they are: another thread may look there (`under_way`).
                let mut place = std::mem::MaybeUninit::<args::$args>::uninit();
                let depth = if dispatch::is_active(FunctionId::$id, place.as_ptr().addr()) {
                    $crate::depth::Depth::enter_from_top(FunctionId::$id, place.as_ptr().addr())
                } else {
                    None
                };
                let Some(depth) = depth else {
                    // SAFETY: the arguments are those of our caller, unchanged.
                    return unsafe { next()($($p),*) };
                };
                let receive = || args::$args { $($p: $crate::wrapper::Argument::<$c>::receive($p)),* };
                let wanted = $crate::hook::wanted(FunctionId::$id, $crate::hook::present());
                if wanted.enter == 0 {
                    if wanted.timed != 0 {
                        depth.set_entered();
                    }
                    // The arguments need not be in memory before the call.
                    // SAFETY: the arguments are those of our caller, unchanged.
                    let code = unsafe { next()($($p),*) };
                    if wanted.leave != 0 {
                        let mut arguments = receive();
                        let call = &mut Call::$args(&mut arguments);
                        dispatch::leave_unentered(&depth, wanted.leave, FunctionId::$id, call, code);
                    }
                    return code;
                }
                let arguments = place.write(receive());
                let entered = dispatch::enter(&depth, FunctionId::$id, &mut Call::$args(arguments));
                if entered.is_none() {
                    *arguments = receive();
                }
                // SAFETY: the arguments are those of our caller, except where hooks changed them,
                // who answer for what they put there.
                let code = unsafe { next()($($crate::wrapper::Argument::<$c>::pass(arguments.$p)),*) };
                dispatch::leave(&depth, entered, FunctionId::$id, &mut Call::$args(arguments), code);
                code
            }

            $crate::wrapper::symbol!($how $symbol = $id($($p: $c),*));
        };
    };
}
pub(crate) use wrapper;

/// The symbol itself: decides between the jump and the attended path.
macro_rules! symbol {
    // Functions that start measurement always have more to do.
    (start $symbol:ident = $id:ident($($p:ident: $c:ty),*)) => {
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $symbol($($p: $c),*) -> c_int {
            // SAFETY: the arguments are those of our caller, unchanged.
            unsafe { attended($($p),*) }
        }
    };
    (hot $symbol:ident = $id:ident($($p:ident: $c:ty),*)) => {
        $crate::wrapper::symbol!(plain $symbol = $id($($p: $c),*));
    };
    // By hand where we can: compilers copy the arguments that lie on the stack (from the seventh
    // on, which the receives have) instead of jumping.
    (plain $symbol:ident = $id:ident($($p:ident: $c:ty),*)) => {
        #[cfg(target_arch = "x86_64")]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C-unwind" fn $symbol($($p: $c),*) -> c_int {
            // Touches no argument and no stack, so what it jumps to finds a call as it came.
            // Reading a byte is an atomic relaxed load, and so is reading an aligned address. Only
            // after resolution is the state IDLE, and the address there is set before the state.
            std::arch::naked_asm!(
                "cmp byte ptr [rip + {shared} + {state}], {idle}",
                "jne 2f",
                "jmp qword ptr [rip + {next} + {offset}]",
                "2:",
                "cmp byte ptr [rip + {shared} + {state}], {passing}",
                "jne 3f",
                "cmp word ptr [rip + {next} + {passes}], 0",
                "je 3f",
                "mov r11, qword ptr [rip + {watched}]",
                "cmp byte ptr [r11], 0",
                "jne 3f",
                "jmp qword ptr [rip + {next} + {offset}]",
                "3:",
                $crate::depth::store_call_site!(),
                "mov rax, qword ptr [rip + {next} + {straight}]",
                "test rax, rax",
                "je 4f",
                "jmp rax",
                "4:",
                "jmp {attended}",
                straight = const FunctionId::$id as usize * size_of::<$crate::wrapper::Function>()
                    + std::mem::offset_of!($crate::wrapper::Function, straight),
                entered_from = const $crate::depth::ENTERED_FROM,
                entered_at = const $crate::depth::ENTERED_AT,
                shared = sym SHARED,
                state = const std::mem::offset_of!(dispatch::Shared, state),
                idle = const $crate::dispatch::IDLE,
                passing = const $crate::dispatch::PASSING,
                watched = sym $crate::passing::WATCHED,
                passes = const FunctionId::$id as usize * size_of::<$crate::wrapper::Function>()
                    + std::mem::offset_of!($crate::wrapper::Function, passes),
                attended = sym attended,
                next = sym FUNCTIONS,
                offset = const FunctionId::$id as usize * size_of::<$crate::wrapper::Function>()
                    + std::mem::offset_of!($crate::wrapper::Function, next),
            )
        }

        #[cfg(not(target_arch = "x86_64"))]
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $symbol($($p: $c),*) -> c_int {
            if SHARED.state.load(Relaxed) == $crate::dispatch::IDLE {
                // SAFETY: the arguments are those of our caller, unchanged.
                return unsafe { next()($($p),*) };
            }
            let straight =
                FUNCTIONS[FunctionId::$id as usize].straight.load(std::sync::atomic::Ordering::Acquire);
            if !straight.is_null() {
                // SAFETY: only the straight wrapper of this function, which has its signature, is stored there; the arguments are those
                // of our caller, unchanged.
                unsafe { std::mem::transmute::<*mut c_void, Signature>(straight)($($p),*) }
            } else {
                // SAFETY: the arguments are those of our caller, unchanged.
                unsafe { attended($($p),*) }
            }
        }
    };
}
pub(crate) use symbol;

/// What a function that starts measurement does first.
macro_rules! start {
    (plain) => {};
    (hot) => {};
    (start) => {
        $crate::lifecycle::start()
    };
}
pub(crate) use start;
