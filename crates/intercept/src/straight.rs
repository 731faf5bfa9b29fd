//! The straight way: calls of the functions that programs call most often go to two hooks by code of their own.
//!
//! A wrapper that has to do with any hooks looks up which of them want a call, and calls each through a table, which tells it by a value
//! what function it is. Most runs have the same two hooks that want messages. For these a wrapper is compiled in which both
//! hooks are known, and the function with them: what a hook does not do for the function is not there.
//!
//! Other hooks that want the function, too, are called as always: in their order, through the table, whether they come before the two, between
//! them or behind.
//!
//! What the hooks see is the same, but that the number of what the call is made in ([`Contexts`]) is found before either hook asks, and
//! that the outer hook's entry is the last: the clock is read once for it and for when the call was entered.

use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicPtr, AtomicU16, AtomicUsize, Ordering::Relaxed};

use crate::depth::Depth;
use crate::dispatch::{self, Running};
use crate::generated::straight_way as find_way;
use crate::hook::{self, Contexts, Hook, InThread, Wanted};
use crate::{Call, FunctionId};

/// The hook whose exit runs last.
pub trait Outer: Hook + Contexts + 'static {
    /// Reads the clock of the hooks ([`set_clock`](crate::set_clock)).
    fn now(&self) -> u64;

    /// [`enter_in_thread`](Hook::enter_in_thread), called after the inner hook's, of a call whose context is found. Gives the time of the
    /// entry: the real function is called next.
    fn enter_last(&self, here: InThread<'_>) -> u64;
}

/// Gives a function's straight wrapper, for calls that are wanted like this.
type Find = fn(FunctionId, Ends) -> Option<*mut c_void>;

/// Which ends of a call the hooks want, as bits, besides its exit, which the outer one always does.
pub(crate) type Ends = u8;
/// The outer hook wants the entry.
pub(crate) const OUTER_ENTERS: Ends = 1;
/// The inner hook wants the entry.
pub(crate) const INNER_ENTERS: Ends = 2;
/// The inner hook wants the exit.
pub(crate) const INNER_LEAVES: Ends = 4;
/// Other hooks want the call, too.
pub(crate) const OTHERS: Ends = 8;

/// The two hooks, and their places among all hooks.
static HOOKS: [AtomicPtr<c_void>; 2] = [const { AtomicPtr::new(std::ptr::null_mut()) }; 2];
static PLACES: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];
/// All hooks in these places, as bits.
static AROUND: [AtomicU16; 4] = [const { AtomicU16::new(0) }; 4];

/// Where other hooks are.
#[derive(Clone, Copy)]
pub(crate) enum Place {
    /// Before the outer one.
    Before,
    /// Between the two.
    Between,
    /// Behind the inner one.
    Behind,
    /// Before the inner one.
    BeforeInner,
}
/// Finds straight wrappers, once there are two hooks.
static FIND: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

/// From now on calls of the functions that are called most often go straight to these two hooks, where they are
/// [registered](crate::register), in this order; other hooks are called as always. The first of the two gives contexts
/// ([`set_contexts`](crate::set_contexts)). Once in a process.
pub fn straighten<A: Outer, B: Hook + 'static>(outer: &'static A, inner: &'static B) {
    let (Some(first), Some(second)) = (hook::place_of(outer), hook::place_of(inner)) else { return };
    if first > second || !FIND.load(Relaxed).is_null() {
        return;
    }
    HOOKS[0].store(std::ptr::from_ref(outer).cast_mut().cast(), Relaxed);
    HOOKS[1].store(std::ptr::from_ref(inner).cast_mut().cast(), Relaxed);
    PLACES[0].store(first, Relaxed);
    PLACES[1].store(second, Relaxed);
    let (outer, inner) = (1u16 << first, 1u16 << second);
    let (before, before_inner) = (outer - 1, (inner - 1) & !outer);
    let around = [before, before_inner & !before, !(inner | (inner - 1)), before_inner];
    AROUND.iter().zip(around).for_each(|(bits, around)| bits.store(around, Relaxed));
    let find: Find = find_way::<A, B>;
    FIND.store(find as *mut c_void, std::sync::atomic::Ordering::Release);
    crate::ask_again();
}

/// The straight wrapper of a function that is wanted like this; null where there is none, or it does not suit.
pub(crate) fn way(function: FunctionId, wanted: &Wanted) -> *mut c_void {
    let find = FIND.load(Relaxed);
    let of = |place: usize| 1u16 << PLACES[place].load(Relaxed);
    let (outer, inner) = (of(0), of(1));
    let all = wanted.enter | wanted.leave | wanted.timed;
    let others = all & !(outer | inner);
    if find.is_null() || wanted.leave & wanted.timed & outer == 0 {
        return std::ptr::null_mut();
    }
    let ends = [
        (wanted.enter & outer, OUTER_ENTERS),
        (wanted.enter & inner, INNER_ENTERS),
        (wanted.leave & inner, INNER_LEAVES),
        (others, OTHERS),
    ];
    let ends = ends.iter().filter(|(bits, _)| *bits != 0).fold(0, |ends, (_, end)| ends | end);
    // SAFETY: only `straighten` stores there: a function of this type.
    let find = unsafe { std::mem::transmute::<*mut c_void, Find>(find) };
    find(function, ends).unwrap_or(std::ptr::null_mut())
}

/// A call on its straight way to hooks of these types.
pub(crate) struct Straight<A, B> {
    depth: Depth,
    function: FunctionId,
    hooks: PhantomData<fn(A, B)>,
}

impl<A: Outer, B: Hook + 'static> Straight<A, B> {
    /// A call of this function begins, what it keeps being here on the stack; `None` where no hook is to see it.
    #[inline(always)]
    pub(crate) fn begin(function: FunctionId, here: usize) -> Option<Self> {
        if !dispatch::is_active(function, here) {
            return None;
        }
        Some(Straight { depth: Depth::enter_from_top(function, here)?, function, hooks: PhantomData })
    }

    /// Both hooks.
    #[inline(always)]
    pub(crate) fn hooks(&self) -> (&'static A, &'static B) {
        let hook = |place: usize| HOOKS[place].load(Relaxed).cast_const();
        // SAFETY: a wrapper with these types is found by what `straighten` has stored together with two hooks of these types, which
        // live as long as the process.
        unsafe { (&*hook(0).cast(), &*hook(1).cast()) }
    }

    /// What the outer hook has in this thread.
    #[inline(always)]
    pub(crate) fn of_outer(&self) -> InThread<'_> {
        self.depth.of_hook(PLACES[0].load(Relaxed)).with_context_found()
    }

    /// What the inner hook has.
    #[inline(always)]
    pub(crate) fn of_inner(&self) -> InThread<'_> {
        self.depth.of_hook(PLACES[1].load(Relaxed)).with_context_found()
    }

    /// The number of what the call is made in, once per call.
    #[inline(always)]
    pub(crate) fn find_context(&self, call: &Call<'_>) {
        let known = self.depth.call();
        known.set_context(self.hooks().0.find(known.of_contexts(), known.site(), self.function, call));
    }

    /// Calls `enter` of the other hooks in this place that are `there` and want it.
    #[inline(always)]
    pub(crate) fn others_enter(&self, there: u16, place: Place, call: &mut Call<'_>) {
        let hooks = hook::entering(self.function, there & AROUND[place as usize].load(Relaxed));
        if hooks != 0 {
            self.enter_all(hooks, call);
        }
    }

    #[inline(never)]
    fn enter_all(&self, hooks: u16, call: &mut Call<'_>) {
        hook::ascending(hooks, |index, hook| {
            hook.enter_in_thread(self.depth.of_hook(index).with_context_found(), self.function, call);
        });
    }

    /// Calls `leave` of the other hooks in this place that were `there` when the call began and want it.
    #[inline(always)]
    pub(crate) fn others_leave(&self, there: u16, place: Place, call: &mut Call<'_>, code: c_int) {
        let hooks = hook::leaving(self.function, there & AROUND[place as usize].load(Relaxed));
        if hooks != 0 {
            self.leave_all(hooks, call, code);
        }
    }

    #[inline(never)]
    fn leave_all(&self, hooks: u16, call: &mut Call<'_>, code: c_int) {
        hook::descending(hooks, |index, hook| {
            hook.leave_in_thread(self.depth.of_hook(index).with_context_found(), self.function, call, code);
        });
    }

    /// Hooks run; whether they did not panic.
    #[inline(always)]
    pub(crate) fn guarded(&self, hooks: impl FnOnce()) -> bool {
        dispatch::guarded(&self.depth, Running::Hook(self.function), hooks)
    }

    /// The real function is about to be called, now.
    #[inline(always)]
    pub(crate) fn set_entered(&self, now: u64) {
        self.depth.set_entered_at(now);
    }

    /// Whether the exits of hooks may run.
    #[inline(always)]
    pub(crate) fn goes_on(&self) -> bool {
        !dispatch::is_stopped()
    }
}

/// Gives the straight wrapper of each function that has one.
macro_rules! straight_ways {
    ($($how:ident $symbol:ident = $id:ident: $args:ident($($p:ident: $c:ty),*);)*) => {
        /// The straight wrapper of a function for hooks of these types, if it has one.
        pub(crate) fn straight_way<A: $crate::Outer, B: $crate::Hook + 'static>(
            function: FunctionId,
            ends: $crate::straight::Ends,
        ) -> Option<*mut c_void> {
            match function {
                $(FunctionId::$id => {
                    $crate::straight::straight_way!(A B ends $how $id: $args($($p: $c),*))
                })*
            }
        }
    };
}
pub(crate) use straight_ways;

/// One straight wrapper.
macro_rules! straight_way {
    ($a:ident $b:ident $ends:ident hot $id:ident: $args:ident($($p:ident: $c:ty),*)) => {{
        /// The straight way of its calls.
        unsafe extern "C-unwind" fn straight<A: $crate::Outer, B: $crate::Hook + 'static, const ENDS: u8>(
            $($p: $c),*
        ) -> c_int {
            use $crate::straight::{INNER_ENTERS, INNER_LEAVES, OTHERS, OUTER_ENTERS, Place, Straight};
            use $crate::wrapper::{Argument, FUNCTIONS};
            type Signature = unsafe extern "C-unwind" fn($($c),*) -> c_int;
            let next = || {
                let address = FUNCTIONS[FunctionId::$id as usize].next.load(std::sync::atomic::Ordering::Relaxed);
                // SAFETY: calls have a straight way after resolution only, when the slot holds the next function of this name, which has
                // this signature, or one that never returns.
                unsafe { std::mem::transmute::<*mut c_void, Signature>(address) }
            };
            // Where they are in memory, if they are: another thread may look there (`under_way`).
            let mut place = std::mem::MaybeUninit::<args::$args>::uninit();
            let Some(call) = Straight::<A, B>::begin(FunctionId::$id, place.as_ptr().addr()) else {
                // SAFETY: the arguments are those of our caller, unchanged.
                return unsafe { next()($($p),*) };
            };
            let receive = || args::$args { $($p: Argument::<$c>::receive($p)),* };
            if ENDS & (OUTER_ENTERS | INNER_ENTERS | OTHERS) == 0 {
                call.set_entered(call.hooks().0.now());
                // The arguments need not be in memory before the call.
                // SAFETY: the arguments are those of our caller, unchanged.
                let code = unsafe { next()($($p),*) };
                if call.goes_on() {
                    let mut arguments = receive();
                    call.guarded(|| {
                        call.find_context(&Call::$args(&mut arguments));
                        let (outer, inner) = call.hooks();
                        if ENDS & INNER_LEAVES != 0 {
                            inner.leave_in_thread(call.of_inner(), FunctionId::$id, &mut Call::$args(&mut arguments), code);
                        }
                        outer.leave_in_thread(call.of_outer(), FunctionId::$id, &mut Call::$args(&mut arguments), code);
                    });
                }
                return code;
            }
            let arguments = place.write(receive());
            let there = if ENDS & OTHERS != 0 { $crate::hook::present() } else { 0 };
            let entered = call.guarded(|| {
                let (outer, inner) = call.hooks();
                call.find_context(&Call::$args(&mut *arguments));
                if ENDS & OTHERS != 0 {
                    call.others_enter(there, Place::BeforeInner, &mut Call::$args(&mut *arguments));
                }
                if ENDS & INNER_ENTERS != 0 {
                    inner.enter_in_thread(call.of_inner(), FunctionId::$id, &mut Call::$args(&mut *arguments));
                }
                if ENDS & OTHERS != 0 {
                    call.others_enter(there, Place::Behind, &mut Call::$args(&mut *arguments));
                }
                call.set_entered(if ENDS & OUTER_ENTERS != 0 { outer.enter_last(call.of_outer()) } else { outer.now() });
            });
            if !entered {
                *arguments = receive();
            }
            // SAFETY: the arguments are those of our caller, except where hooks changed them, who answer for what they put there.
            let code = unsafe { next()($(Argument::<$c>::pass(arguments.$p)),*) };
            if entered && call.goes_on() {
                call.guarded(|| {
                    let (outer, inner) = call.hooks();
                    if ENDS & OTHERS != 0 {
                        call.others_leave(there, Place::Behind, &mut Call::$args(&mut *arguments), code);
                    }
                    if ENDS & INNER_LEAVES != 0 {
                        inner.leave_in_thread(call.of_inner(), FunctionId::$id, &mut Call::$args(&mut *arguments), code);
                    }
                    if ENDS & OTHERS != 0 {
                        call.others_leave(there, Place::Between, &mut Call::$args(&mut *arguments), code);
                    }
                    outer.leave_in_thread(call.of_outer(), FunctionId::$id, &mut Call::$args(&mut *arguments), code);
                    if ENDS & OTHERS != 0 {
                        call.others_leave(there, Place::Before, &mut Call::$args(arguments), code);
                    }
                });
            }
            code
        }
        // What most runs want, and those that count calls only; and both with other hooks.
        match $ends {
            0 => Some(straight::<$a, $b, 0> as *mut c_void),
            1 => Some(straight::<$a, $b, 1> as *mut c_void),
            4 => Some(straight::<$a, $b, 4> as *mut c_void),
            6 => Some(straight::<$a, $b, 6> as *mut c_void),
            7 => Some(straight::<$a, $b, 7> as *mut c_void),
            12 => Some(straight::<$a, $b, 12> as *mut c_void),
            14 => Some(straight::<$a, $b, 14> as *mut c_void),
            15 => Some(straight::<$a, $b, 15> as *mut c_void),
            _ => None,
        }
    }};
    ($a:ident $b:ident $ends:ident $how:ident $id:ident: $args:ident($($p:ident: $c:ty),*)) => { None };
}
pub(crate) use straight_way;
