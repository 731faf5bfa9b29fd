//! Our performance variables, and what they are read from.
//!
//! Nothing is counted, and no hook is there, before a tool allocates a handle of one.
//!
//! | file | what lives there |
//! |---|---|
//! | `counts` | rows of what was sent, and what variables read from them |
//! | `known` | the communicators that rows and handles are for |
//! | `counting` | the store of the variables: it follows the program's calls; what a collective operation looks like |
//! | `queues` | the counts of queues and waits: from the events of the backends |
//!
//! It must not know who reads the variables.

mod counting;
mod counts;
mod known;
mod queues;

use std::sync::{Arc, OnceLock};

use mpi_abi::Abi;
use mpit_events::Core;
use mpit_vars::store::Store;
use mpit_vars::{monitoring, variables};

pub use mpit_vars::{Bind, Element, control, own};
pub use queues::QueueCounts;

use crate::QueueEvents;

/// Adds the variables to those of this process. Called when MPI, or its tool information interface, is first initialised. What
/// is given back must hear of communicators: it belongs to the observers of the model.
///
/// # Errors
/// [`mpit_vars::Error::InvalidName`] where they are there already.
pub fn add(
    abi: &'static Abi,
    core: &'static Core,
    queue_events: &QueueEvents,
) -> Result<&'static QueueCounts, mpit_vars::Error> {
    let counting = COUNTING.get_or_init(|| Arc::new(counting::Counting::new(abi))).clone();
    let store: Arc<dyn Store> = counting;
    let counts = QueueCounts::new(core, queue_events.model(), queue_events.peruse());
    monitoring::add(variables(), store.clone())?;
    let queues: Arc<dyn mpit_vars::queues::Queues> = Arc::new(counts);
    mpit_vars::queues::add(variables(), &queues, &store)?;
    Ok(counts)
}

static COUNTING: OnceLock<Arc<counting::Counting>> = OnceLock::new();

/// Counts from now on, before there is a handle. Where hooks may be registered, after [`add`].
///
/// # Errors
/// [`mpit_vars::Error::Failed`] where there is no place for a further hook.
pub fn follow() -> Result<(), mpit_vars::Error> {
    COUNTING.get().map_or(Ok(()), |counting| counting.begin())
}

/// The names of all variables that [`add`] adds, in their order.
pub fn names() -> impl Iterator<Item = &'static str> {
    monitoring::names().chain(mpit_vars::queues::names())
}

/// All variables of ours as tools see them, in the order of their numbers.
pub fn descriptions() -> impl Iterator<Item = mpit_vars::Description> {
    monitoring::descriptions().chain(mpit_vars::queues::descriptions())
}
