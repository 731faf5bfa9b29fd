//! The hook interface: who listens to MPI calls.

use std::{
    cell::Cell,
    ffi::{c_int, c_void},
    sync::{
        Mutex, OnceLock,
        atomic::{AtomicPtr, AtomicU16, Ordering},
    },
};

use crate::{
    Call, FunctionId,
    dispatch::{self, SHARED},
    straight,
    wrapper::FUNCTIONS,
};

/// A listener to MPI calls.
///
/// Both functions run in the thread of the application, inside its MPI call. They must not block,
/// should not allocate, and may call MPI, which no hook then sees. A panic does not reach the
/// application: it ends measurement.
///
/// A call from Fortran looks like one from C, but that strings and arrays of handles of unknown length
/// are null.
///
/// `function` distinguishes `MPI_X` from `MPI_X_c`, which may share a variant of [`Call`], and has the name.
pub trait Hook: Sync {
    /// The ends of this function's calls at which the hook is to run. Asked at [`register`] and at [`ask_again`]. A
    /// function that no hook wants costs little more than one without hooks.
    fn wants(&self, function: FunctionId) -> Wants {
        let _ = function;
        Wants::Both
    }

    /// Whether the hook wants to know when this function's calls were entered ([`InThread::entered`]). Asked with
    /// [`wants`](Hook::wants). Costs less than an entry.
    fn wants_time(&self, function: FunctionId) -> bool {
        let _ = function;
        false
    }

    /// Before the real function. Arguments may be changed: the real function is called with what the last hook leaves
    /// in `call`. In a call from Fortran only statuses may be changed. What a changed argument points to must stay valid
    /// until [`Hook::leave`] of the same thread, or, where MPI keeps the address, as long as MPI does.
    fn enter(&self, function: FunctionId, call: &mut Call<'_>) {
        let _ = (function, call);
    }

    /// A call begins, the first since somebody asked for that ([`attend`](crate::attend)): before any hook sees it, whether one wants its
    /// function or not. Where the program may call MPI. What the call is made in, and from where, is not known here.
    fn attend(&self) {}

    /// [`enter`](Hook::enter) with what this hook has in the calling thread. The interception calls this one; a hook with state
    /// per thread implements it instead of `enter`.
    #[inline]
    fn enter_in_thread(&self, here: InThread<'_>, function: FunctionId, call: &mut Call<'_>) {
        let _ = here;
        self.enter(function, call);
    }

    /// [`leave`](Hook::leave) with what this hook has in the calling thread. The interception calls this one.
    #[inline]
    fn leave_in_thread(&self, here: InThread<'_>, function: FunctionId, call: &mut Call<'_>, code: c_int) {
        let _ = here;
        self.leave(function, call, code);
    }

    /// After the real function has returned `code`, with the arguments as it was called.
    ///
    /// Not called for functions that do not return, such as `MPI_Abort`, or that are left by an
    /// exception. For `MPI_Pcontrol` before the real function, whose further arguments only a jump can
    /// pass on. A hook registered while a call is under way sees the next one first.
    fn leave(&self, function: FunctionId, call: &mut Call<'_>, code: c_int) {
        let _ = (function, call, code);
    }
}

/// One address per hook and thread, for the hook's state of that thread. Null at first.
///
/// The interception passes the slot to the hook, so that the hook needs no thread-local variable of its own: looking one
/// up in a shared library takes some nanoseconds per call.
#[derive(Debug)]
pub struct ThreadSlot(Cell<*mut c_void>);

impl ThreadSlot {
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    pub(crate) const fn new() -> Self {
        ThreadSlot(Cell::new(std::ptr::null_mut()))
    }

    /// The address that was [`set`](ThreadSlot::set) on this thread, or null.
    #[inline(always)]
    pub fn get(&self) -> *mut c_void {
        self.0.get()
    }

    /// Stores an address until the thread ends. Nothing is done with it then: see
    /// [`at_thread_end`](crate::at_thread_end).
    #[inline]
    pub fn set(&self, address: *mut c_void) {
        self.0.set(address);
    }
}

/// What all hooks share of the call under way in a thread.
#[derive(Debug)]
pub(crate) struct CallCells {
    /// Where the call returns to; zero where that is not known.
    site: Cell<usize>,
    /// The number of what the call is made in; zero until somebody has asked.
    context: Cell<u32>,
    /// When the real function was called, by the clock of the hooks, where one wants that.
    entered: Cell<u64>,
    /// When the call returned, by the clock of the hooks; zero until one has read it.
    left: Cell<u64>,
    /// What [`Contexts`] keep in this thread.
    of_contexts: ThreadSlot,
}

impl CallCells {
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    pub(crate) const fn new() -> Self {
        CallCells {
            site: Cell::new(0),
            context: Cell::new(0),
            entered: Cell::new(0),
            left: Cell::new(0),
            of_contexts: ThreadSlot::new(),
        }
    }

    /// A call begins that was made from this place.
    #[inline(always)]
    pub(crate) fn begin(&self, site: usize) {
        self.site.set(site);
        self.context.set(0);
        self.entered.set(0);
        self.left.set(0);
    }

    /// When the real function was entered, if it has not returned, and what is in the slot of [`Contexts`].
    pub(crate) fn seen(&self) -> Option<(u64, usize)> {
        let entered = self.entered.get();
        (entered != 0 && self.left.get() == 0).then(|| (entered, self.of_contexts.get().addr()))
    }

    #[inline(always)]
    pub(crate) fn set_entered(&self, now: u64) {
        self.entered.set(now);
    }

    #[inline(always)]
    pub(crate) fn set_context(&self, context: u32) {
        self.context.set(context);
    }

    #[inline(always)]
    pub(crate) fn site(&self) -> usize {
        self.site.get()
    }

    #[inline(always)]
    pub(crate) fn of_contexts(&self) -> &ThreadSlot {
        &self.of_contexts
    }
}

/// Numbers what calls are made in: their contexts.
pub trait Contexts: Sync {
    /// The number of this call's context, which is not zero; zero where there is none yet. Runs once per call, at the exit of the
    /// call or before, in a hook of the thread that makes the call, which has the slot.
    fn find(&self, slot: &ThreadSlot, site: usize, function: FunctionId, call: &Call<'_>) -> u32;
}

static CONTEXTS: OnceLock<&'static dyn Contexts> = OnceLock::new();

/// From now on calls have the contexts that these give them. The first ones stay.
pub fn set_contexts(contexts: &'static dyn Contexts) {
    let _ = CONTEXTS.set(contexts);
}

/// A function that reads a clock.
type Now = fn() -> u64;

static CLOCK: AtomicPtr<c_void> = AtomicPtr::new(no_clock as Now as *mut c_void);

fn no_clock() -> u64 {
    0
}

/// The clock that the entries of calls are read from, for hooks that want these ([`Hook::wants_time`]); zero until it is set.
pub fn set_clock(now: Now) {
    CLOCK.store(now as *mut c_void, Ordering::Relaxed);
}

#[inline(always)]
pub(crate) fn now() -> u64 {
    let clock = CLOCK.load(Ordering::Relaxed);
    // SAFETY: only the two functions above store there: a function of this type each time.
    (unsafe { std::mem::transmute::<*mut c_void, Now>(clock) })()
}

/// What a hook has in the calling thread: its slot, and what is known of the call under way.
#[derive(Clone, Copy, Debug)]
pub struct InThread<'a> {
    pub(crate) slot: &'a ThreadSlot,
    pub(crate) call: &'a CallCells,
    /// Whether what the call is made in has been found.
    pub(crate) found: bool,
}

impl<'a> InThread<'a> {
    /// The same, where what the call is made in has been found before any hook asks.
    #[inline(always)]
    pub(crate) fn with_context_found(self) -> Self {
        InThread { found: true, ..self }
    }

    /// The hook's slot. It lives as long as the thread.
    #[inline(always)]
    #[must_use]
    pub fn slot(self) -> &'a ThreadSlot {
        self.slot
    }

    /// The address in the program, or in a library of it, that the MPI call returns to; `None` where it is not known: on
    /// processors other than x86-64, and for the calls that initialise MPI. No stack is unwound for it.
    #[inline(always)]
    #[must_use]
    pub fn call_site(self) -> Option<std::num::NonZeroUsize> {
        std::num::NonZeroUsize::new(self.call.site.get())
    }

    /// The number of what this call is made in ([`set_contexts`]); 0 where nobody gives numbers. Found when a hook asks first.
    #[inline(always)]
    #[must_use]
    pub fn context(self, function: FunctionId, call: &Call<'_>) -> u32 {
        let known = self.call.context.get();
        if known != 0 || self.found {
            return known;
        }
        let Some(contexts) = CONTEXTS.get() else { return 0 };
        let context = contexts.find(&self.call.of_contexts, self.call.site.get(), function, call);
        self.call.context.set(context);
        context
    }

    /// The number of what this call is made in, where that has been found; else 0.
    #[inline(always)]
    #[must_use]
    pub fn context_found(self) -> u32 {
        self.call.context.get()
    }

    /// The slot of [`Contexts`].
    #[inline(always)]
    #[must_use]
    pub fn slot_of_contexts(self) -> &'a ThreadSlot {
        &self.call.of_contexts
    }

    /// When the real function was called, after the entries of all hooks. At the exit of a call of a function of which some
    /// hook wants this ([`Hook::wants_time`]).
    #[inline(always)]
    #[must_use]
    pub fn entered(self) -> u64 {
        self.call.entered.get()
    }

    /// When the call returned: `now`, read by the first hook that asks. At the exit of a call only; all hooks read one clock.
    #[inline(always)]
    pub fn left(self, now: impl FnOnce() -> u64) -> u64 {
        let known = self.call.left.get();
        if known != 0 {
            return known;
        }
        let now = now();
        self.call.left.set(now);
        now
    }
}

/// The ends of a call at which a hook runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wants {
    /// At neither.
    Nothing,
    /// Before the real function.
    Enter,
    /// After it.
    Leave,
    /// Before and after it.
    Both,
}

/// How many hooks there may be.
pub(crate) const MAX: usize = 16;

static HOOKS: [OnceLock<&'static dyn Hook>; MAX] = [const { OnceLock::new() }; MAX];
/// There are as many hooks as can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full;

impl std::fmt::Display for Full {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{MAX} hooks are registered, which is the maximum")
    }
}

impl std::error::Error for Full {}

/// Adds a hook, for the life of the process. `enter` runs in the order of registration, `leave` in
/// the reverse order.
///
/// Allowed at any time, from any thread, but not inside a hook and not in a signal handler. Calls
/// are seen from `MPI_Init` on.
///
/// # Errors
/// [`Full`] when there are sixteen already.
pub fn register(hook: &'static dyn Hook) -> Result<(), Full> {
    static REGISTERING: Mutex<()> = Mutex::new(());
    let _one_at_a_time = REGISTERING.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let count = count();
    let slot = HOOKS.get(count).ok_or(Full)?;
    slot.set(hook).map_err(|_| Full)?;
    ask(count, hook);
    // Release: who sees this bit finds the slot set.
    SHARED.present.fetch_or(1 << count, Ordering::Release);
    dispatch::hook_was_registered();
    Ok(())
}

/// Asks all hooks again what they want ([`Hook::wants`]). Allowed at any time, in hooks too. A call that
/// is under way may then be seen at one of its ends only.
pub fn ask_again() {
    for (index, hook) in HOOKS.iter().enumerate().take(count()) {
        if let Some(hook) = hook.get() {
            ask(index, *hook);
        }
    }
}

/// The place of a hook that is registered.
pub(crate) fn place_of(hook: &'static dyn Hook) -> Option<usize> {
    let is_it =
        |one: &OnceLock<&'static dyn Hook>| one.get().is_some_and(|one| std::ptr::addr_eq(*one, hook));
    HOOKS.iter().position(is_it)
}

/// As if no hook wanted anything.
pub(crate) fn forget_wishes() {
    for function in FunctionId::all() {
        let of = &FUNCTIONS[function.index()];
        [&of.enter, &of.leave, &of.timed].into_iter().for_each(|bits| bits.store(0, Ordering::Relaxed));
        of.straight.store(std::ptr::null_mut(), Ordering::Relaxed);
    }
}

/// Stores what the hook with this index wants.
fn ask(index: usize, hook: &dyn Hook) {
    let set = |bits: &AtomicU16, wanted: bool| {
        if wanted {
            bits.fetch_or(1 << index, Ordering::SeqCst);
        } else {
            bits.fetch_and(!(1 << index), Ordering::SeqCst);
        }
    };
    for function in FunctionId::all() {
        let of = &FUNCTIONS[function.index()];
        let wants = hook.wants(function);
        set(&of.enter, matches!(wants, Wants::Enter | Wants::Both));
        set(&of.leave, matches!(wants, Wants::Leave | Wants::Both));
        set(&of.timed, hook.wants_time(function));
        // Somebody else may be asked at the same time.
        loop {
            let wanted = self::wanted(function, u16::MAX);
            let is_wanted = wanted.enter | wanted.leave | wanted.timed != 0;
            of.passes.store(u16::from(!is_wanted && may_pass(function)), Ordering::SeqCst);
            of.straight.store(straight::way(function, &wanted), Ordering::SeqCst);
            if wanted == self::wanted(function, u16::MAX) {
                break;
            }
        }
    }
}

/// Whether calls of a function may pass by: those that an MPI implements without others of which hooks could want to hear.
fn may_pass(function: FunctionId) -> bool {
    use mpi_functions::Kind;
    matches!(
        function.about().kind,
        Kind::Send(_)
            | Kind::Receive
            | Kind::SendReceive
            | Kind::Probe
            | Kind::Start
            | Kind::Completion
            | Kind::Request
            | Kind::Collective(_)
            | Kind::Local
    )
}

/// How many hooks there are now.
#[inline]
pub(crate) fn count() -> usize {
    present().trailing_ones() as usize
}

/// The hooks that are there, as bits.
#[inline]
pub(crate) fn present() -> u16 {
    SHARED.present.load(Ordering::Acquire)
}

/// The hooks that want a function's entry and exit, as bits.
#[derive(PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) enter: u16,
    pub(crate) leave: u16,
    pub(crate) timed: u16,
}

/// Of the hooks that are `present`.
#[inline]
pub(crate) fn wanted(function: FunctionId, present: u16) -> Wanted {
    let of = &FUNCTIONS[function.index()];
    Wanted {
        enter: of.enter.load(Ordering::Relaxed) & present,
        leave: of.leave.load(Ordering::Relaxed) & present,
        timed: of.timed.load(Ordering::Relaxed) & present,
    }
}

/// Those of these hooks that want the entry of a function's calls.
#[inline(always)]
pub(crate) fn entering(function: FunctionId, hooks: u16) -> u16 {
    FUNCTIONS[function.index()].enter.load(Ordering::Relaxed) & hooks
}

/// Those of these hooks that want the exit of a function's calls.
#[inline(always)]
pub(crate) fn leaving(function: FunctionId, hooks: u16) -> u16 {
    FUNCTIONS[function.index()].leave.load(Ordering::Relaxed) & hooks
}

/// Calls `each` with the index of each of these hooks, in the order of registration.
#[inline(always)]
pub(crate) fn ascending(mut bits: u16, mut each: impl FnMut(usize, &'static dyn Hook)) {
    while bits != 0 {
        let index = bits.trailing_zeros() as usize;
        bits &= bits - 1;
        at(index, &mut each);
    }
}

/// Calls `each` with the index of each of these hooks, in the reverse order.
#[inline(always)]
pub(crate) fn descending(mut bits: u16, mut each: impl FnMut(usize, &'static dyn Hook)) {
    while bits != 0 {
        let index = bits.ilog2() as usize;
        bits ^= 1 << index;
        at(index, &mut each);
    }
}

/// Calls `each` with the hook of this index.
#[inline(always)]
pub(crate) fn at(index: usize, each: &mut impl FnMut(usize, &'static dyn Hook)) {
    // An index of sixteen bits is always below `MAX`: the modulo avoids a bounds check.
    if let Some(hook) = HOOKS[index % MAX].get() {
        each(index % MAX, *hook);
    }
}
