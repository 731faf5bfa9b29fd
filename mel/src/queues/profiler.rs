//! The callbacks of the queue profile, and their registration for each communicator.

use std::sync::Arc;

use mpit_events::{Core, Error, Instance, Safety, Token};
use mpit_sources::Serial;

use super::accumulate::{Queue, Searches};
use crate::profile::RankProfile;

/// What is counted: both queues of this process and their searches, over all communicators.
#[derive(Debug, Default)]
struct Queues {
    posted: Queue,
    unexpected: Queue,
    posted_search: Searches,
    unexpected_search: Searches,
}

/// The identity of the entry: the events' first element, "request".
#[inline(always)]
fn identity(instance: &Instance<'_>) -> u64 {
    instance.payload().first_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes))
}

/// Counts what happens in the queues of this process. Thread-safe.
#[derive(Clone, Debug, Default)]
pub struct QueueProfiler(Arc<Serial<Queues>>);

impl QueueProfiler {
    /// Several threads may call MPI at the same time from now on.
    pub fn set_threads(&self) {
        self.0.set_threads();
    }

    /// Counts the events of this communicator from now on: everything that runs per event is here.
    ///
    /// # Errors
    /// Those of the events core; a type that does not exist is left out.
    pub fn listen(&self, core: &Core, communicator: Token) -> Result<(), Error> {
        self.listen_to(core, communicator, "posted_insert", |q, i| q.posted.insert(identity(i), i.ticks().0))?;
        self.listen_to(core, communicator, "posted_remove", |q, i| q.posted.remove(identity(i), i.ticks().0))?;
        self.listen_to(core, communicator, "unex_insert", |q, i| q.unexpected.insert(identity(i), i.ticks().0))?;
        self.listen_to(core, communicator, "unex_remove", |q, i| q.unexpected.remove(identity(i), i.ticks().0))?;
        self.listen_to(core, communicator, "search_posted_begin", |q, i| {
            q.posted_search.begin(i.source().get(), i.ticks().0);
        })?;
        self.listen_to(core, communicator, "search_posted_end", |q, i| {
            q.posted_search.end(i.source().get(), i.ticks().0);
        })?;
        self.listen_to(core, communicator, "search_unexpected_begin", |q, i| {
            q.unexpected_search.begin(i.source().get(), i.ticks().0);
        })?;
        self.listen_to(core, communicator, "search_unexpected_end", |q, i| {
            q.unexpected_search.end(i.source().get(), i.ticks().0);
        })
    }

    fn listen_to(
        &self,
        core: &Core,
        communicator: Token,
        name: &str,
        count: impl Fn(&mut Queues, &Instance<'_>) + Copy + Send + Sync + 'static,
    ) -> Result<(), Error> {
        let Ok(event) = core.type_by_name(&format!("pml_ob1_{name}")) else { return Ok(()) };
        let handle = core.alloc(event, Some(communicator))?;
        let queues = self.0.clone();
        // At this level a callback serves every context that the queue events are raised in.
        core.set_callback(handle, Safety::ThreadSafe, move |instance| {
            queues.with(|queues| count(queues, instance));
        })
    }

    /// Fills in the numbers so far.
    pub fn fill(&self, profile: &mut RankProfile, ticks_per_second: u64) {
        self.0.with(|queues| {
            profile.posted = queues.posted.stats(ticks_per_second);
            profile.unexpected = queues.unexpected.stats(ticks_per_second);
            profile.posted_search = queues.posted_search.stats(ticks_per_second);
            profile.unexpected_search = queues.unexpected_search.stats(ticks_per_second);
        });
    }
}
