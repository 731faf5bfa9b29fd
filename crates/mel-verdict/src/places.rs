//! Call sites of a rank, on whatever communicator, and how long its calls there took.

use std::collections::BTreeMap;

use mel_log::table::IntervalKind;

use crate::run::{Context, Rank};

/// A call site of a thread in a phase, by which calls with and without a communicator of their messages belong together: thread,
/// function, site, phase.
pub(crate) type Place<'a> = (u32, &'a str, Option<u32>, u32);

/// The place of a context.
pub(crate) fn of(context: &Context) -> Place<'_> {
    (context.thread, &context.function, context.site, context.phase)
}

/// The time in calls, and between the tests of a thread that polls, in seconds. Only what was called is there.
pub(crate) fn times(rank: &Rank) -> BTreeMap<Place<'_>, f64> {
    let mut times: BTreeMap<Place<'_>, f64> = BTreeMap::new();
    let called = rank.contexts.iter().zip(&rank.rows.contexts).zip(of_contexts(rank));
    for ((context, _), seconds) in called.filter(|((_, row), _)| row.calls > 0) {
        *times.entry(of(context)).or_default() += seconds;
    }
    times
}

/// The same by context.
pub(crate) fn of_contexts(rank: &Rank) -> impl Iterator<Item = f64> {
    let mut times: Vec<f64> = rank.rows.contexts.iter().map(|row| rank.seconds(row.ticks)).collect();
    // What lies between the tests of a poll is outside of MPI.
    for row in rank.rows.waits.iter().filter(|row| row.key.kind == IntervalKind::Polled) {
        if let Some(time) = times.get_mut(row.key.context as usize) {
            *time += rank.seconds(row.bytes);
        }
    }
    times.into_iter()
}

/// How many threads have called MPI at these places; 1 at least.
pub(crate) fn threads<T>(places: &BTreeMap<Place<'_>, T>) -> usize {
    // The thread comes first in their order.
    let mut threads: Vec<u32> = places.keys().map(|place| place.0).collect();
    threads.dedup();
    threads.len().max(1)
}
