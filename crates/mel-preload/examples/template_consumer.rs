//! A template of a consumer: counts from which ranks messages come before their receive is posted.
//!
//! Copy it into a folder of `crates/mel-preload/src/`, and change it part by part: the numbers of the comments are
//! the steps. The last one is a line in the list of `crates/mel-preload/src/consumers.rs`. It runs as it is, without MPI, on events that it
//! raises itself:
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
use std::sync::atomic::{AtomicU64, Ordering as Memory};
use std::sync::{Arc, Mutex, PoisonError};

use mel::consumer::{Consumer, Parts};
use mel::state::Run;
use mel::warn;
use mel_log::profile::Ended;
use mpit_events::{
    BindKind, Clock, Core, Error, EventIndex, Instance, Object, Ordering, Registration, Safety, Source,
    Ticks, Token,
};
use mpit_sources::calls::{Communicator, Observer};
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
    core: &'static Core,
    event: EventIndex,
    /// Which element of the payload is the sender's rank.
    source: usize,
    communicators: Mutex<Vec<OfCommunicator>>,
}

impl EarlySenders {
    /// Step 3: Looks up what it needs, once.
    ///
    /// # Errors
    /// [`Error::InvalidName`] where there is no such event or element. A consumer that can do
    /// without an event leaves it out instead.
    pub fn new(core: &'static Core) -> Result<Self, Error> {
        let event = core.type_by_name(EVENT)?;
        let elements = &core.event_type(event).ok_or(Error::InvalidIndex)?.elements;
        let source =
            elements.iter().position(|element| element.name == "source").ok_or(Error::InvalidName)?;
        Ok(EarlySenders { core, event, source, communicators: Mutex::default() })
    }

    /// Step 4: Listens to a communicator of `size` ranks.
    ///
    /// # Errors
    /// Those of the events core.
    fn listen(&self, communicator: Token, size: usize) -> Result<(), Error> {
        let handle = self.core.alloc(self.event, Some(communicator))?;
        let from: Arc<[AtomicU64]> = (0..size).map(|_| AtomicU64::new(0)).collect();
        let (counts, source) = (from.clone(), self.source);
        // 5. The callback: the hot path, some nanoseconds per event. A consumer that takes very many
        //    events of all communicators takes them in bulk instead (`Core::listen_in_bulk`, as
        //    `crates/mel-preload/src/queues/profiler.rs` does). `Safety::ThreadSafe` serves every context that is
        //    not a signal handler; a callback that is not thread-safe asks for `MpiRestricted`, and
        //    loses (and the core counts) what programs with several threads raise.
        self.core.set_callback(handle, Safety::ThreadSafe, move |instance: &Instance<'_>| {
            let rank = instance.read::<i32>(source).and_then(|rank| usize::try_from(rank).ok());
            if let Some(count) = rank.and_then(|rank| counts.get(rank)) {
                count.fetch_add(1, Memory::Relaxed);
            }
        })?;
        let mut all = self.communicators.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(OfCommunicator { handle, from });
        Ok(())
    }

    /// Step 6: The end: stops listening, and puts into words what was counted and what was lost. What is to be in the profile is counted
    /// in a section of the table instead (`Consumer::attach`).
    fn end(&self) -> String {
        let mut text = String::new();
        let all = std::mem::take(&mut *self.communicators.lock().unwrap_or_else(PoisonError::into_inner));
        for (number, OfCommunicator { handle, from }) in all.iter().enumerate() {
            let dropped = self.core.dropped(*handle).unwrap_or_default();
            // From here on no callback begins; nobody waits for one that is running.
            let _ = self.core.free(*handle, None);
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

/// Step 7: How the session asks and tells it; all else of the trait has a default.
impl Consumer for EarlySenders {
    fn observers(&'static self) -> Vec<&'static dyn Observer> {
        vec![self]
    }

    fn settle(&self, _: &Run, _: Ended, _: Ticks) {
        self.end().lines().for_each(warn);
    }
}

/// What hears of each communicator as it comes, the predefined ones first.
impl Observer for EarlySenders {
    fn communicator_created(&self, communicator: &Communicator) {
        // Without space in the core it is left out.
        let _ = self.listen(communicator.token, communicator.size as usize);
    }
}

/// Step 8: Makes it at the entry of `MPI_Init*`, where the user wants it: `early_senders::consumer` is its line in the list. What a user
/// wants is a field of `Config`, read from a setting of the catalogue.
pub fn consumer(parts: &Parts) -> Option<&'static dyn Consumer> {
    EarlySenders::new(parts.core).ok().map(|made| Box::leak(Box::new(made)) as &dyn Consumer)
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

/// The communicator of the mock, as the model tells of it.
fn world(mock: &Mock) -> Communicator {
    Communicator {
        token: mock.world.token(),
        context: 1,
        index: 0,
        size: 4,
        rank: 0,
        inter: false,
        group: 1,
        made_in: 0,
    }
}

fn main() -> Result<(), Error> {
    let core: &'static Core = Box::leak(Box::default());
    let mock = Mock::new(core)?;
    let consumer = EarlySenders::new(core)?;
    consumer.communicator_created(&world(&mock));
    for rank in [2, 0, 2, 2] {
        mock.message(core, Safety::MpiRestricted, rank);
    }
    print!("{}", consumer.end());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(messages: &[(Safety, i32)]) -> String {
        let core: &'static Core = Box::leak(Box::default());
        let mock = Mock::new(core).unwrap();
        let consumer = EarlySenders::new(core).unwrap();
        mock.message(core, Safety::MpiRestricted, 1);
        consumer.communicator_created(&world(&mock));
        messages.iter().for_each(|&(level, rank)| mock.message(core, level, rank));
        let text = consumer.end();
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
        assert_eq!(EarlySenders::new(Box::leak(Box::default())).err(), Some(Error::InvalidName));
    }
}
