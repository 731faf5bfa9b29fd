//! A template of a consumer: counts from which ranks messages come before their receive is posted.
//!
//! Copy it into a room of `crates/mel-preload/src/`, and change it part by part: the numbers of the comments are
//! the steps. It runs as it is, without MPI, on events that it raises itself:
//!
//! ```text
//! cargo run -p mel-preload --example template_consumer
//! ```
//!
//! # What a consumer must keep to
//!
//! - It knows the events core and the names of events. It never knows who raises them, nor how.
//! - A callback runs inside an MPI call of the application, perhaps in several threads at once, and
//!   perhaps in a later call than the event belongs to: the time is the instance's, not now.
//! - A callback copies or counts, nothing else: no allocation, no formatting, no lock that another
//!   thread may hold for long. What is costly happens at the end, or offline.
//! - The instance is valid only inside the callback.
//! - What was lost is told with the result.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering as Memory};

use mpit_events::{
    BindKind, Clock, Core, Error, EventIndex, Instance, Object, Ordering, Registration, Safety, Source, Token,
};
use mpit_sources::matching::{Event, Ob1Events, UnexpectedQueued};

/// Step 1: The event that it listens to, by name: it may come from any source.
const EVENT: &str = "pml_ob1_unex_insert";

/// Step 2: What it keeps for each communicator.
struct OfCommunicator {
    handle: Registration,
    /// Messages by the rank that sent them: room is made here, so that no callback has to.
    from: Arc<[AtomicU64]>,
}

/// Counts, for each sender, the messages that no receive was waiting for.
pub struct EarlySenders {
    event: EventIndex,
    /// Which element of the payload is the sender's rank.
    source: usize,
    communicators: Vec<OfCommunicator>,
}

impl EarlySenders {
    /// Step 3: Looks up what it needs, once.
    ///
    /// # Errors
    /// [`Error::InvalidName`] where there is no such event or element. A consumer that can do
    /// without an event leaves it out instead.
    pub fn new(core: &Core) -> Result<Self, Error> {
        let event = core.type_by_name(EVENT)?;
        let elements = &core.event_type(event).ok_or(Error::InvalidIndex)?.elements;
        let source =
            elements.iter().position(|element| element.name == "source").ok_or(Error::InvalidName)?;
        Ok(EarlySenders { event, source, communicators: Vec::new() })
    }

    /// Step 4: Listens to a communicator of `size` ranks. In MEL this is called for each communicator as
    /// it comes, the predefined ones first: `Observer::communicator_created` in
    /// `crates/mel-preload/src/session.rs`.
    ///
    /// # Errors
    /// Those of the events core.
    pub fn listen(&mut self, core: &Core, communicator: Token, size: usize) -> Result<(), Error> {
        let handle = core.alloc(self.event, Some(communicator))?;
        let from: Arc<[AtomicU64]> = (0..size).map(|_| AtomicU64::new(0)).collect();
        let (counts, source) = (from.clone(), self.source);
        // 5. The callback: the hot path, some nanoseconds per event. A consumer that takes very many
        //    events of all communicators takes them in bulk instead (`Core::listen_in_bulk`, as
        //    `crates/mel-preload/src/queues/profiler.rs` does). `Safety::ThreadSafe` serves every context that is
        //    not a signal handler; a callback that is not thread-safe asks for `MpiRestricted`, and
        //    loses (and the core counts) what programs with several threads raise.
        core.set_callback(handle, Safety::ThreadSafe, move |instance: &Instance<'_>| {
            let rank = instance.read::<i32>(source).and_then(|rank| usize::try_from(rank).ok());
            if let Some(count) = rank.and_then(|rank| counts.get(rank)) {
                count.fetch_add(1, Memory::Relaxed);
            }
        })?;
        self.communicators.push(OfCommunicator { handle, from });
        Ok(())
    }

    /// Step 6: The end: stops listening, and puts into words what was counted and what was lost. In MEL
    /// this belongs into `crates/mel-preload/src/finish.rs`, and the numbers into `profile.json`.
    pub fn finish(self, core: &Core) -> String {
        let mut text = String::new();
        for (number, OfCommunicator { handle, from }) in self.communicators.iter().enumerate() {
            let dropped = core.dropped(*handle).unwrap_or_default();
            // From here on no callback begins; nobody waits for one that is running.
            let _ = core.free(*handle, None);
            for (rank, count) in from.iter().enumerate() {
                let count = count.load(Memory::Relaxed);
                if count > 0 {
                    let _ = writeln!(text, "communicator {number}: {count} early messages from rank {rank}");
                }
            }
            if dropped > 0 {
                let _ = writeln!(text, "communicator {number}: {dropped} events were lost");
            }
        }
        text
    }
}

/// A source of our own, so that the template runs without MPI.
struct Mock {
    events: Ob1Events,
    source: mpit_events::SourceIndex,
    world: Arc<Object>,
}

impl Mock {
    fn new(core: &Core) -> Result<Self, Error> {
        let source = Source::new("mock", "messages that never were", Ordering::Ordered, Clock::best());
        Ok(Mock {
            events: Ob1Events::register(core, "")?,
            source: core.add_source(source),
            world: core.bind(BindKind::Comm, Token(7)),
        })
    }

    /// A message from this rank finds no receive.
    fn message(&self, core: &Core, level: Safety, rank: i32) {
        let event = self.events.index(Event::UnexInsert);
        if core.is_active(event) {
            let payload = UnexpectedQueued { request: 1, source: rank, tag: 0, sequence: 0 };
            core.raise_section(self.source, level).event(event, &self.world, Clock::best().now(), &payload);
        }
    }
}

fn main() -> Result<(), Error> {
    let core = Core::new();
    let mock = Mock::new(&core)?;
    let mut consumer = EarlySenders::new(&core)?;
    consumer.listen(&core, mock.world.token(), 4)?;
    for rank in [2, 0, 2, 2] {
        mock.message(&core, Safety::MpiRestricted, rank);
    }
    print!("{}", consumer.finish(&core));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(messages: &[(Safety, i32)]) -> String {
        let core = Core::new();
        let mock = Mock::new(&core).unwrap();
        let mut consumer = EarlySenders::new(&core).unwrap();
        mock.message(&core, Safety::MpiRestricted, 1);
        consumer.listen(&core, mock.world.token(), 4).unwrap();
        messages.iter().for_each(|&(level, rank)| mock.message(&core, level, rank));
        let text = consumer.finish(&core);
        assert!(!core.is_active(mock.events.index(Event::UnexInsert)), "nobody listens any more");
        text
    }

    #[test]
    fn messages_are_counted_by_sender() {
        let inside = Safety::MpiRestricted;
        let text = counted(&[(inside, 2), (Safety::ThreadSafe, 0), (inside, 2), (inside, -1), (inside, 4)]);
        assert_eq!(
            text,
            "communicator 0: 1 early messages from rank 0\ncommunicator 0: 2 early messages from rank 2\n"
        );
    }

    #[test]
    fn what_no_callback_may_see_is_told_as_lost() {
        assert_eq!(counted(&[(Safety::AsyncSignalSafe, 2)]), "communicator 0: 1 events were lost\n");
    }

    #[test]
    fn without_the_event_there_is_nothing_to_count() {
        assert_eq!(EarlySenders::new(&Core::new()).err(), Some(Error::InvalidName));
    }
}
