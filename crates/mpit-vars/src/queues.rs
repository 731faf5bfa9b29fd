//! Variables of our own: the message queues of each communicator, what calls wait for, and what is sent.
//!
//! Names begin with `mel_`, so that no MPI has the same. Numbers are `MPI_UNSIGNED_LONG`; times are nanoseconds.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use crate::direct::Direct;
use crate::gauge::{Gauge, Mark, Writers};
use crate::store::{self, Kind};
use crate::{
    Bind, Class, Contents, Counted, Description, Element, Error, Tally, Value, Variable, Variables, Verbosity,
};

/// What happens in the queues of one communicator: whoever sees it adds to these. Thread-safe.
#[derive(Debug, Default)]
pub struct Counts {
    /// Receives that wait for their messages.
    pub posted: Gauge,
    /// Messages that wait for their receives.
    pub unexpected: Gauge,
    /// Their bytes.
    pub unexpected_bytes: Gauge,
    /// Searches of the posted queue, and how long they took, in ticks.
    pub posted_search: Searches,
    /// Searches of the unexpected queue.
    pub unexpected_search: Searches,
    /// How long calls have waited for messages that were sent late, in ticks.
    pub waited: AtomicU64,
    users: AtomicUsize,
}

/// Searches of a queue.
#[derive(Debug, Default)]
pub struct Searches {
    number: AtomicU64,
    ticks: AtomicU64,
}

impl Searches {
    /// Adds a `number` of searches, each of which took `ticks`.
    #[inline]
    pub fn add(&self, ticks: u64, number: u16, writers: Writers) {
        writers.add(&self.number, number.into());
        writers.add(&self.ticks, ticks.wrapping_mul(number.into()));
    }
}

impl Counts {
    /// For a handle: as long as that is there, these counts are of no other communicator.
    #[must_use]
    pub fn in_use(&'static self) -> InUse {
        self.users.fetch_add(1, Relaxed);
        InUse(self)
    }

    /// Whether no handle has them.
    #[must_use]
    pub fn is_vacant(&self) -> bool {
        self.users.load(Relaxed) == 0
    }
}

/// The counts that a handle is for.
#[derive(Debug)]
pub struct InUse(&'static Counts);

impl Drop for InUse {
    fn drop(&mut self) {
        self.0.users.fetch_sub(1, Relaxed);
    }
}

/// Who follows the queues. All methods are thread-safe and may take a lock.
pub trait Queues: Send + Sync {
    /// The counts of the communicator with this handle; `None` where there is none, or the queues are not followed.
    fn communicator(&self, handle: u64) -> Option<InUse>;

    /// Begins to count, if nobody has asked before, also what calls wait for if `waits`. Nothing is counted before.
    ///
    /// # Errors
    /// [`Error::Failed`] where that cannot be done.
    fn begin(&self, waits: bool) -> Result<(), Error>;

    /// The counts of all communicators together, from now on.
    fn everything(&self) -> Option<&'static Counts> {
        None
    }

    /// Brings the counts up to date, where the calling thread may do that: not a thread beside the only one that calls MPI.
    fn catch_up(&self);

    /// Whether the bytes of unexpected messages are known.
    fn knows_bytes(&self) -> bool;

    /// Envelopes that were lost on the way to this process, so far.
    fn lost(&self) -> u64;

    /// What [`lost`](Queues::lost) has given last.
    fn lost_so_far(&self) -> Option<&'static AtomicU64> {
        None
    }

    /// So many ticks in nanoseconds.
    fn nanoseconds(&self, ticks: u64) -> u64;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Posted,
    Unexpected,
    Bytes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Count {
    PostedSearches,
    PostedSearchTime,
    UnexpectedSearches,
    UnexpectedSearchTime,
    Waited,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Level(Level),
    Highest(Level),
    Count(Count),
    Sent { bytes: bool },
    Lost,
}

const OURS: [(&str, Class, What, &str); 14] = [
    (
        "mel_posted_queue_length",
        Class::Level,
        What::Level(Level::Posted),
        "Receives of the communicator in the posted queue, which wait for their messages.",
    ),
    (
        "mel_unexpected_queue_length",
        Class::Level,
        What::Level(Level::Unexpected),
        "Messages of the communicator in the unexpected queue, which wait for their receives.",
    ),
    (
        "mel_unexpected_queue_bytes",
        Class::Level,
        What::Level(Level::Bytes),
        "Bytes of the messages of the communicator in the unexpected queue.",
    ),
    (
        "mel_posted_queue_length_high",
        Class::HighWatermark,
        What::Highest(Level::Posted),
        "Most receives of the communicator in the posted queue at one time.",
    ),
    (
        "mel_unexpected_queue_length_high",
        Class::HighWatermark,
        What::Highest(Level::Unexpected),
        "Most messages of the communicator in the unexpected queue at one time.",
    ),
    (
        "mel_unexpected_queue_bytes_high",
        Class::HighWatermark,
        What::Highest(Level::Bytes),
        "Most bytes of messages of the communicator in the unexpected queue at one time.",
    ),
    (
        "mel_posted_searches",
        Class::Counter,
        What::Count(Count::PostedSearches),
        "Searches of the posted queue of the communicator: one for each message that has come.",
    ),
    (
        "mel_posted_search_time",
        Class::Timer,
        What::Count(Count::PostedSearchTime),
        "Time of the searches of the posted queue of the communicator, in nanoseconds.",
    ),
    (
        "mel_unexpected_searches",
        Class::Counter,
        What::Count(Count::UnexpectedSearches),
        "Searches of the unexpected queue of the communicator: one for each receive and each probe.",
    ),
    (
        "mel_unexpected_search_time",
        Class::Timer,
        What::Count(Count::UnexpectedSearchTime),
        "Time of the searches of the unexpected queue of the communicator, in nanoseconds.",
    ),
    (
        "mel_wait_time",
        Class::Timer,
        What::Count(Count::Waited),
        "Time that calls have waited for messages of the communicator that were sent late, in nanoseconds: estimated from the \
         times of sending, in waits of a microsecond and more.",
    ),
    (
        "mel_messages_sent",
        Class::Counter,
        What::Sent { bytes: false },
        "Messages that the program has sent to other processes on the communicator; of MPI_COMM_WORLD: on all.",
    ),
    (
        "mel_bytes_sent",
        Class::Aggregate,
        What::Sent { bytes: true },
        "Bytes of the messages that the program has sent to other processes on the communicator; of MPI_COMM_WORLD: on all.",
    ),
    (
        "mel_envelopes_lost",
        Class::Counter,
        What::Lost,
        "Envelopes that were lost on their way to the model of the queues in this process: how far the others can be trusted.",
    ),
];

/// The variables as tools see them, for those who want to know what there is.
pub fn descriptions() -> impl Iterator<Item = Description> {
    OURS.iter().map(|(name, class, what, text)| Description {
        name: (*name).into(),
        description: (*text).into(),
        verbosity: Verbosity::UserBasic,
        class: *class,
        element: Element::UnsignedLong,
        bind: if *what == What::Lost { Bind::Nothing } else { Bind::Comm },
        // As in Open MPI: a level is what it is.
        readonly: matches!(what, What::Level(_)),
        continuous: matches!(what, What::Level(_)),
        atomic: !matches!(what, What::Level(_)),
    })
}

/// The names of all variables that [`add`] adds.
pub fn names() -> impl Iterator<Item = &'static str> {
    OURS.iter().map(|(name, ..)| *name)
}

/// Adds the variables: those of queues come from `queues`, those of messages that are sent from `sent`.
///
/// # Errors
/// [`Error::InvalidName`] where they are there already.
pub fn add(
    variables: &Variables,
    queues: &Arc<dyn Queues>,
    sent: &Arc<dyn store::Store>,
) -> Result<(), Error> {
    for (description, (.., what, _)) in descriptions().zip(OURS) {
        let variable: Arc<dyn Variable> = match what {
            What::Sent { bytes } => Arc::new(Sent { store: sent.clone(), bytes }),
            what => Arc::new(OfQueues { queues: queues.clone(), what }),
        };
        variables.add(description, variable)?;
    }
    Ok(())
}

struct OfQueues {
    queues: Arc<dyn Queues>,
    what: What,
}

impl Variable for OfQueues {
    fn bind(&self, object: Option<u64>) -> Result<Box<dyn Value>, Error> {
        let queues = self.queues.clone();
        if self.what == What::Lost {
            return Ok(Box::new(Counted::new(Lost(queues))));
        }
        let counts = queues.communicator(object.ok_or(Error::InvalidHandle)?).ok_or(Error::InvalidHandle)?;
        if let What::Level(Level::Bytes) | What::Highest(Level::Bytes) = self.what
            && !queues.knows_bytes()
        {
            return Err(Error::Failed);
        }
        Ok(match self.what {
            What::Level(level) => Box::new(LevelNow { queues, counts, level, value: [0] }),
            What::Highest(level) => {
                Box::new(Highest { queues, counts, level, mark: None, before: 0, value: [0] })
            }
            What::Count(count) => Box::new(Counted::new(OnCommunicator { queues, counts, count })),
            What::Sent { .. } | What::Lost => return Err(Error::Failed),
        })
    }

    fn direct(&self) -> Option<Direct> {
        let needs_bytes = matches!(self.what, What::Level(Level::Bytes) | What::Highest(Level::Bytes));
        if self.what == What::Lost {
            return self.queues.lost_so_far().map(Direct::Lost);
        }
        if needs_bytes && !self.queues.knows_bytes() {
            return None;
        }
        let counts = self.queues.everything()?;
        self.queues.begin(self.what == What::Count(Count::Waited)).ok()?;
        Some(match self.what {
            What::Level(level) => Direct::Level(level.of(counts)),
            What::Highest(level) => Direct::Highest(level.of(counts), level.of(counts).mark()?),
            What::Count(Count::PostedSearches) => Direct::Count(&counts.posted_search.number),
            What::Count(Count::PostedSearchTime) => Direct::Ticks(&counts.posted_search.ticks),
            What::Count(Count::UnexpectedSearches) => Direct::Count(&counts.unexpected_search.number),
            What::Count(Count::UnexpectedSearchTime) => Direct::Ticks(&counts.unexpected_search.ticks),
            What::Count(Count::Waited) => Direct::Ticks(&counts.waited),
            What::Sent { .. } | What::Lost => return None,
        })
    }
}

impl Level {
    fn of(self, counts: &Counts) -> &Gauge {
        match self {
            Level::Posted => &counts.posted,
            Level::Unexpected => &counts.unexpected,
            Level::Bytes => &counts.unexpected_bytes,
        }
    }
}

/// The value of a handle of a level: what it is when it is read.
struct LevelNow {
    queues: Arc<dyn Queues>,
    counts: InUse,
    level: Level,
    value: [u64; 1],
}

impl Value for LevelNow {
    fn count(&self) -> usize {
        1
    }

    fn start(&mut self) -> Result<(), Error> {
        self.queues.begin(false)
    }

    fn stop(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn read(&mut self) -> Result<Contents<'_>, Error> {
        self.queues.catch_up();
        self.value = [self.level.of(self.counts.0).level()];
        Ok(Contents::Numbers(&self.value))
    }

    fn write(&mut self, _: Contents<'_>) -> Result<(), Error> {
        Err(Error::NoWrite)
    }

    fn reset(&mut self) -> Result<(), Error> {
        Err(Error::NoWrite)
    }
}

/// The value of a handle of a highest level: since it was started, or reset.
struct Highest {
    queues: Arc<dyn Queues>,
    counts: InUse,
    level: Level,
    mark: Option<Mark>,
    /// What it was until the last start, or was written.
    before: u64,
    value: [u64; 1],
}

impl Highest {
    fn now(&mut self) -> u64 {
        self.queues.catch_up();
        let gauge = self.level.of(self.counts.0);
        self.mark.map_or(self.before, |mark| self.before.max(gauge.highest(mark)))
    }
}

impl Value for Highest {
    fn count(&self) -> usize {
        1
    }

    fn start(&mut self) -> Result<(), Error> {
        self.queues.begin(false)?;
        self.queues.catch_up();
        self.mark = Some(self.level.of(self.counts.0).mark().ok_or(Error::NoStartStop)?);
        Ok(())
    }

    fn stop(&mut self) -> Result<(), Error> {
        self.before = self.now();
        if let Some(mark) = self.mark.take() {
            self.level.of(self.counts.0).release(mark);
        }
        Ok(())
    }

    fn read(&mut self) -> Result<Contents<'_>, Error> {
        self.value = [self.now()];
        Ok(Contents::Numbers(&self.value))
    }

    fn write(&mut self, contents: Contents<'_>) -> Result<(), Error> {
        let Contents::Numbers(&[number]) = contents else { return Err(Error::Failed) };
        self.reset()?;
        self.before = number;
        Ok(())
    }

    fn reset(&mut self) -> Result<(), Error> {
        self.queues.catch_up();
        self.before = 0;
        if let Some(mark) = self.mark {
            self.level.of(self.counts.0).begin_again(mark);
        }
        Ok(())
    }
}

impl Drop for Highest {
    fn drop(&mut self) {
        if let Some(mark) = self.mark.take() {
            self.level.of(self.counts.0).release(mark);
        }
    }
}

struct OnCommunicator {
    queues: Arc<dyn Queues>,
    counts: InUse,
    count: Count,
}

impl Tally for OnCommunicator {
    fn count(&self) -> usize {
        1
    }

    fn begin(&mut self) -> Result<(), Error> {
        self.queues.begin(self.count == Count::Waited)
    }

    fn now(&mut self, into: &mut [u64]) {
        self.queues.catch_up();
        let Counts { posted_search, unexpected_search, waited, .. } = self.counts.0;
        let time = |ticks: &AtomicU64| self.queues.nanoseconds(ticks.load(Relaxed));
        into[0] = match self.count {
            Count::PostedSearches => posted_search.number.load(Relaxed),
            Count::PostedSearchTime => time(&posted_search.ticks),
            Count::UnexpectedSearches => unexpected_search.number.load(Relaxed),
            Count::UnexpectedSearchTime => time(&unexpected_search.ticks),
            Count::Waited => time(waited),
        };
    }
}

struct Lost(Arc<dyn Queues>);

impl Tally for Lost {
    fn count(&self) -> usize {
        1
    }

    fn now(&mut self, into: &mut [u64]) {
        self.0.catch_up();
        into[0] = self.0.lost();
    }
}

struct Sent {
    store: Arc<dyn store::Store>,
    bytes: bool,
}

impl Variable for Sent {
    fn bind(&self, object: Option<u64>) -> Result<Box<dyn Value>, Error> {
        let handle = object.ok_or(Error::InvalidHandle)?;
        let communicator = self.store.communicator(handle).ok_or(Error::InvalidHandle)?;
        let (store, bytes) = (self.store.clone(), self.bytes);
        Ok(Box::new(Counted::new(SentOn { store, communicator: communicator.id, bytes })))
    }

    fn direct(&self) -> Option<Direct> {
        self.store.begin().ok()?;
        let sent = self.store.sent()?;
        Some(if self.bytes { Direct::Bytes(sent) } else { Direct::Messages(sent) })
    }
}

struct SentOn {
    store: Arc<dyn store::Store>,
    communicator: u64,
    bytes: bool,
}

impl Tally for SentOn {
    fn count(&self) -> usize {
        1
    }

    fn begin(&mut self) -> Result<(), Error> {
        self.store.begin()
    }

    fn now(&mut self, into: &mut [u64]) {
        into[0] = 0;
        self.store.by_peer(self.communicator, Kind::Message, &mut |_, amount| {
            let more = if self.bytes { amount.bytes } else { amount.messages };
            into[0] = into[0].wrapping_add(more);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One communicator, whose handle is 1; of a clock of 1 GHz.
    struct One(&'static Counts);

    impl Queues for One {
        fn communicator(&self, handle: u64) -> Option<InUse> {
            (handle == 1).then(|| self.0.in_use())
        }

        fn begin(&self, _: bool) -> Result<(), Error> {
            Ok(())
        }

        fn catch_up(&self) {}

        fn knows_bytes(&self) -> bool {
            false
        }

        fn lost(&self) -> u64 {
            7
        }

        fn nanoseconds(&self, ticks: u64) -> u64 {
            ticks * 10
        }
    }

    fn number(value: &mut dyn Value) -> u64 {
        match value.read() {
            Ok(Contents::Numbers(&[number])) => number,
            other => panic!("{other:?}"),
        }
    }

    fn bind(counts: &'static Counts, what: What) -> Result<Box<dyn Value>, Error> {
        OfQueues { queues: Arc::new(One(counts)), what }.bind(Some(1))
    }

    #[test]
    fn a_level_is_what_it_is_and_a_watermark_begins_at_its_start() {
        let counts: &'static Counts = Box::leak(Box::default());
        let mut level = bind(counts, What::Level(Level::Posted)).unwrap();
        let mut highest = bind(counts, What::Highest(Level::Posted)).unwrap();
        counts.posted.add(9, Writers::One);
        counts.posted.add(-6, Writers::One);
        highest.start().unwrap();
        assert_eq!((number(&mut *level), number(&mut *highest)), (3, 3));
        counts.posted.add(2, Writers::One);
        counts.posted.add(-5, Writers::One);
        assert_eq!((number(&mut *level), number(&mut *highest)), (0, 5));
        highest.stop().unwrap();
        counts.posted.add(50, Writers::One);
        assert_eq!(number(&mut *highest), 5);
        highest.reset().unwrap();
        assert_eq!(number(&mut *highest), 0);
        assert!(!counts.is_vacant());
        drop((level, highest));
        assert!(counts.is_vacant());
    }

    #[test]
    fn searches_count_while_a_handle_is_started_and_have_nanoseconds() {
        let counts: &'static Counts = Box::leak(Box::default());
        let mut time = bind(counts, What::Count(Count::PostedSearchTime)).unwrap();
        counts.posted_search.add(5, 1, Writers::One);
        time.start().unwrap();
        counts.posted_search.add(6, 1, Writers::One);
        assert_eq!(number(&mut *time), 60);
    }

    #[test]
    fn what_is_not_known_has_no_handle() {
        let counts: &'static Counts = Box::leak(Box::default());
        assert_eq!(bind(counts, What::Level(Level::Bytes)).err(), Some(Error::Failed));
        let other = OfQueues { queues: Arc::new(One(counts)), what: What::Level(Level::Posted) };
        assert_eq!(other.bind(Some(2)).err(), Some(Error::InvalidHandle));
    }

    #[test]
    fn names_are_ours_and_levels_can_only_be_read() {
        for description in descriptions() {
            assert!(description.name.starts_with("mel_"), "{}", description.name);
            assert_eq!(description.readonly, description.class == Class::Level);
        }
    }
}
