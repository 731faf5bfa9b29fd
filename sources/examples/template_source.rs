//! A template of a source: raises an event when a barrier begins, and one when it ends.
//!
//! Copy it into a room of `sources/src/`, and change it part by part: the numbers of the comments
//! are the steps. It runs as it is, without MPI:
//!
//! ```text
//! cargo run -p mpit-sources --example template_source
//! ```
//!
//! # What a source must keep to
//!
//! - It knows MPI calls and the events core. It never knows who listens, nor why.
//! - It runs inside the application's MPI calls: it does not wait, does not allocate for each call,
//!   and does not panic. What it cannot do it counts, and leaves the program alone.
//! - With nobody listening a call costs two loads and a branch: ask before you build a payload.
//! - Events of one source come in the order of their time stamps, or the source says that they do not.
//! - No lock of its own is held while it raises: a callback may call MPI, and so come back.

use std::cell::Cell;
use std::ffi::c_int;
use std::sync::atomic::{AtomicUsize, Ordering as Memory};

use mpi_abi::{Comm, Handle};
use mpi_intercept::{Call, FunctionId, Hook, Wants, args};
use mpit_events::{
    BindKind, Clock, Core, Error, EventIndex, EventType, Ordering, Safety, Source, SourceIndex, Token, core,
    event_payload,
};

// 1. The payload: the one definition of its layout. The texts are the names of the elements, as a
//    user sees them in a log. A type without elements has the payload `()`.
event_payload! {
    /// A barrier of this thread.
    pub struct Barrier {
        "number" number: u64,
    }
}

/// 2. What the source keeps: the core, its event types, and nothing that changes with each call.
pub struct Barriers {
    core: &'static Core,
    begin: EventIndex,
    end: EventIndex,
    /// The level at which events are raised: what a callback may do.
    level: Safety,
}

/// What a thread keeps from the entry of a call to its exit.
#[derive(Clone, Copy)]
struct Frame {
    /// This thread's control flow, once it has raised anything.
    source: Option<SourceIndex>,
    /// Barriers that this thread has begun while somebody listened.
    count: u64,
    /// The barrier that it is in now, if its beginning was raised.
    open: Option<u64>,
}

thread_local! {
    // Constant and without destructor: usable at any time in the life of a thread.
    static FRAME: Cell<Frame> = const { Cell::new(Frame { source: None, count: 0, open: None }) };
}

impl Barriers {
    /// 3. Describes the event types to the core. Made once, before the application can call MPI.
    ///
    /// Two types whose names differ only in `_begin` and `_end` become a region in an OTF2 trace.
    /// `BindKind::Comm`: a consumer registers for one communicator at a time. `threads`: several
    /// threads may call MPI at once, so callbacks must be thread-safe.
    ///
    /// # Errors
    /// [`Error::OutOfHandles`] where the core has no room for the types.
    pub fn new(core: &'static Core, threads: bool) -> Result<Self, Error> {
        let describe =
            |name: &str, text: &str| core.add_type(EventType::of::<Barrier>(name, text, BindKind::Comm));
        Ok(Barriers {
            core,
            begin: describe("template_barrier_begin", "A barrier begins.")?,
            end: describe("template_barrier_end", "A barrier ends.")?,
            level: if threads { Safety::ThreadSafe } else { Safety::MpiRestricted },
        })
    }

    /// 4. Raises one instance: when it was observed, to what it happened, and what it carries.
    #[cold]
    #[inline(never)]
    fn raise(&self, event: EventIndex, comm: Comm, number: u64) {
        let mut frame = FRAME.get();
        let source = *frame.source.get_or_insert_with(|| add_thread(self.core));
        FRAME.set(frame);
        // The bound object is the value of the handle; the core never looks into it. This looks it
        // up in a table under a short lock: a source that raises often keeps the object instead,
        // from the creation of the communicator to its end (as `sources/src/calls/comms.rs` does).
        let object = self.core.bind(BindKind::Comm, Token(comm.word() as u64));
        let now = Clock::best().now();
        // Callbacks run here. Several events at hand are raised in one section, and those that bulk
        // listeners may want as records (`Raise::records`, as `sources/src/calls/frame.rs` does).
        self.core.raise_section(source, self.level).event(event, &object, now, &Barrier { number });
    }
}

/// 5. Sources are control flows: one for each thread that raises, so that each is in order.
fn add_thread(core: &Core) -> SourceIndex {
    static THREADS: AtomicUsize = AtomicUsize::new(0);
    let number = THREADS.fetch_add(1, Memory::Relaxed);
    let description = format!("barriers of application thread {number}");
    core.add_source(Source::new(
        format!("template thread {number}"),
        description,
        Ordering::Ordered,
        Clock::best(),
    ))
}

/// 6. The calls that it sees. Handles come as machine words, whichever MPI this is.
impl Hook for Barriers {
    /// Asked once for each function: the others then cost next to nothing.
    fn wants(&self, function: FunctionId) -> Wants {
        if function == FunctionId::Barrier { Wants::Both } else { Wants::Nothing }
    }

    fn enter(&self, _: FunctionId, call: &mut Call<'_>) {
        let Call::Barrier(arguments) = call else { return };
        if !self.core.is_active(self.begin) {
            return;
        }
        let mut frame = FRAME.get();
        frame.count += 1;
        frame.open = Some(frame.count);
        FRAME.set(frame);
        self.raise(self.begin, arguments.comm, frame.count);
    }

    fn leave(&self, _: FunctionId, call: &mut Call<'_>, _code: c_int) {
        let Call::Barrier(arguments) = call else { return };
        let mut frame = FRAME.get();
        // Only what was begun ends: somebody may have begun to listen in the middle of the call.
        if let Some(number) = frame.open.take() {
            FRAME.set(frame);
            self.raise(self.end, arguments.comm, number);
        }
    }
}

/// A barrier as the application would call it: entry, the real function, exit.
fn call_barrier(source: &Barriers, comm: Comm, meanwhile: impl FnOnce()) {
    let mut arguments = args::Barrier { comm };
    source.enter(FunctionId::Barrier, &mut Call::Barrier(&mut arguments));
    meanwhile();
    source.leave(FunctionId::Barrier, &mut Call::Barrier(&mut arguments), 0);
}

/// Runs the source without MPI. In a tool the hook is registered instead, at the first `MPI_Init*`:
/// `mpi_intercept::register(Box::leak(Box::new(source)))`; see `crates/mel-preload/src/session.rs`.
fn main() -> Result<(), Error> {
    let source = Barriers::new(core(), false)?;
    let world = Comm::from_word(0x4400_0000);
    for event in [source.begin, source.end] {
        let handle = core().alloc(event, Some(Token(world.word() as u64)))?;
        core().set_callback(handle, Safety::ThreadSafe, |instance| {
            let number: u64 = instance.read(0).unwrap_or_default();
            println!("{} number={number}", instance.event_type().name);
        })?;
    }
    call_barrier(&source, world, || ());
    call_barrier(&source, world, || ());
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    const WORLD: usize = 7;

    /// The source on a core of its own, and what a listener on `WORLD` was told.
    fn listening() -> (Barriers, impl Fn(EventIndex), Arc<Mutex<Vec<String>>>) {
        let core: &'static Core = Box::leak(Box::default());
        let source = Barriers::new(core, false).unwrap();
        let told = Arc::new(Mutex::new(Vec::new()));
        let notes = told.clone();
        let listen = move |event| {
            let handle = core.alloc(event, Some(Token(WORLD as u64))).unwrap();
            let notes = notes.clone();
            let note = move |instance: &mpit_events::Instance<'_>| {
                let number: u64 = instance.read(0).unwrap();
                notes.lock().unwrap().push(format!("{} {number}", instance.event_type().name));
            };
            core.set_callback(handle, Safety::MpiRestricted, note).unwrap();
        };
        (source, listen, told)
    }

    #[test]
    fn a_barrier_begins_and_ends_on_its_communicator() {
        let (source, listen, told) = listening();
        listen(source.begin);
        listen(source.end);
        call_barrier(&source, Comm::from_word(WORLD), || {
            assert_eq!(*told.lock().unwrap(), ["template_barrier_begin 1"]);
        });
        call_barrier(&source, Comm::from_word(WORLD + 1), || ());
        assert_eq!(*told.lock().unwrap(), ["template_barrier_begin 1", "template_barrier_end 1"]);
    }

    #[test]
    fn only_barriers_are_wanted() {
        let (source, ..) = listening();
        let wanted = FunctionId::all().filter(|&function| source.wants(function) != Wants::Nothing);
        assert_eq!(wanted.map(FunctionId::name).collect::<Vec<_>>(), ["MPI_Barrier"]);
    }

    #[test]
    fn an_end_without_its_beginning_is_not_told() {
        let (source, listen, told) = listening();
        call_barrier(&source, Comm::from_word(WORLD), || {
            listen(source.begin);
            listen(source.end);
        });
        assert!(told.lock().unwrap().is_empty());
    }
}
