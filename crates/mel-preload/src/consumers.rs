//! The list of consumers. Adding one is its folder, and its line here.

use crate::consumer::{Consumer, Parts};
use crate::{
    attribution, calls, code, counters, holds, matrix, plugins, policies, queues, regions, registry,
    requests, trace, vars, watchdog, windows,
};

/// Makes a consumer, where the user wants it.
type Make = fn(&Parts) -> Option<&'static dyn Consumer>;

/// All consumers. Hooks are registered in this order, behind that of the session and before those of the sources: calls are entered in it
/// and returned from in the reverse one. All else is done in this order, too.
#[rustfmt::skip]
const ALL: [Make; 18] = [
    // What they do as a call is entered sets and reads variables: before anybody attributes what these do. The first reads its last
    // samples before plugins, which are told of them, end.
    vars::consumer,
    plugins::consumer,
    requests::consumer,
    holds::consumer,
    watchdog::consumer,
    // It hears of a communicator before the registry forgets the one that was at its place.
    queues::consumer,
    // It tells plugins of regions.
    regions::consumer,
    // Before all that changes variables as calls are entered, and after that as they return.
    attribution::consumer,
    // They count on what the registry knows of communicators and windows: that hears first of calls that return.
    matrix::consumer,
    matrix::net::consumer,
    matrix::inside::consumer,
    // It hears of a window that was made after the call was counted.
    registry::consumer,
    calls::consumer,
    windows::consumer,
    // What they set does not change what the call under way has counted at its entry.
    policies::consumer,
    // What is sampled or counted between these and the real function is nobody's work.
    code::consumer,
    counters::consumer,
    // Nearest to the real function: what it records is the call itself.
    trace::log::consumer,
];

/// Those that the user wants.
pub(crate) fn make(parts: &Parts) -> Vec<&'static dyn Consumer> {
    ALL.iter().filter_map(|make| make(parts)).collect()
}
