//! Regions that the program names: they lie in each other, by thread.
//!
//! Calls count in the region that their thread is in, and the table has how long threads are in each.
//!
//! - [`paths`]: the numbers of regions.
//! - [`threads`]: what a thread keeps.
//! - [`times`]: how long threads are in regions; the consumer.
//! - [`c`]: the C functions by which the program names regions, MEL's own and Caliper's.

pub mod c;
mod paths;
mod threads;
mod times;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use mel_log::Definition;

use crate::trace::recorder::Recorder;
use crate::warn;
use threads::{Entry, Thread};

pub(crate) use threads::current;
pub(crate) use times::consumer;

/// Nobody wants regions: no calls are counted, or this is the child of a fork.
static IGNORED: AtomicBool = AtomicBool::new(false);

/// Nobody wants regions any more.
pub(crate) fn abandon() {
    IGNORED.store(true, Ordering::Relaxed);
    threads::note_regions(false);
}

/// Whether regions are noted; before MPI is initialised, too.
#[inline]
fn are_noted() -> bool {
    !IGNORED.load(Ordering::Relaxed)
}

/// A thread ends: its region ends in the log, while it has streams there.
pub(crate) fn end_of_thread() {
    if let Some(recorder) = LOG.get() {
        recorder.region(0);
    }
}

/// Who is to know before a thread is in another region.
static BEFORE: OnceLock<fn()> = OnceLock::new();

/// Regions deeper than this count in what they lie in.
const DEEPEST: usize = 64;
/// Of more regions that a thread has begun and not ended the ends are not known.
const MOST_BEGUN: usize = 64 * 1024;

/// Variables are attributed to regions, and this runs before a thread is in another one, in that thread. For one caller.
pub(crate) fn attribute(before_changes: fn()) {
    paths::allow_many();
    let _ = BEFORE.set(before_changes);
}

/// Where a trace has in which regions threads are.
static LOG: OnceLock<&'static Recorder> = OnceLock::new();

/// Threads' regions go into a log from now on; this thread is in one already, perhaps. For one caller.
pub(crate) fn record(recorder: &'static Recorder) {
    let regions = paths::all();
    for (number, path) in (1..).zip(&regions.paths[..regions.undefined]) {
        recorder.define(&Definition::Region { number, path: path.clone() });
    }
    let _ = LOG.set(recorder);
    drop(regions);
    define_new();
    recorder.region(current());
}

/// The thread is in another region from now on, by `how`. It has `begun` that, or goes on in it.
fn change(thread: &Thread, begun: bool, how: impl FnOnce()) {
    if let Some(user) = BEFORE.get() {
        user();
    }
    let left = times::leave(thread);
    how();
    if let Some(recorder) = LOG.get() {
        recorder.region(thread.region.get());
    }
    if let Some(now) = left {
        times::enter(thread, now, begun);
    }
}

/// A region of this name begins in this thread.
fn begin(name: &[u8]) {
    let thread = threads::this();
    let (within, hash) = (thread.region.get(), paths::hash(name));
    let depth = thread.stack.borrow().len();
    let at_hand = thread.known.borrow().get(&(within, hash)).copied();
    let found = if depth >= DEEPEST { None } else { at_hand.or_else(|| find(thread, within, hash, name)) };
    let region = found.unwrap_or(within);
    change(thread, found.is_some(), || {
        // Who never ends what it begins does not take memory for ever.
        if depth < MOST_BEGUN {
            thread.stack.borrow_mut().push(Entry { region, hash });
        }
        thread.region.set(region);
    });
    threads::note_regions(true);
    if found.is_none() {
        tell(true);
    }
}

#[cold]
fn find(thread: &Thread, within: u16, hash: u64, name: &[u8]) -> Option<u16> {
    let name = crate::phases::kept_name(name);
    let number = paths::all().number(within, hash, &name)?;
    define_new();
    thread.known.borrow_mut().insert((within, hash), number);
    Some(number)
}

/// The region of this name ends in this thread.
fn end(name: &[u8]) {
    let thread = threads::this();
    let mut fits = true;
    change(thread, false, || {
        let mut stack = thread.stack.borrow_mut();
        fits = threads::end_of(&mut stack, paths::hash(name));
        thread.region.set(stack.last().map_or(0, |entry| entry.region));
    });
    if !fits {
        tell(false);
    }
}

/// Something happens to regions of which the table has the number, and the user a line.
fn tell(lost: bool) {
    let mut regions = paths::all();
    let count = if lost { &mut regions.lost } else { &mut regions.mismatched };
    *count += 1;
    // Other ranks do what the first does, and the report has the numbers of all.
    let first = *count == 1 && mel_log::launcher::is_first_rank();
    times::set_counts(regions.lost, regions.mismatched);
    drop(regions);
    if first && lost {
        warn(&format!(
            "the program has begun more than {} different regions, or {DEEPEST} in each other: those beyond count in what they lie in",
            paths::most()
        ));
    } else if first {
        warn(
            "a region was ended that was not the last one begun: regions in it end with it, and one that was not begun is ignored",
        );
    }
}

/// Regions that have no definition yet get one, where there is a table or a log.
fn define_new() {
    let mut regions = paths::all();
    let (registry, log) = (times::registry(), LOG.get().filter(|recorder| !recorder.is_closed()));
    if registry.is_none() && log.is_none() {
        return;
    }
    for (number, path) in (1..).zip(&regions.paths).skip(regions.undefined) {
        let definition = Definition::Region { number, path: path.clone() };
        registry.into_iter().for_each(|registry| registry.define(&definition));
        log.into_iter().for_each(|recorder| recorder.define(&definition));
        if let Some(plugins) = crate::plugins::host() {
            plugins.region(path);
        }
    }
    regions.undefined = regions.paths.len();
    times::set_counts(regions.lost, regions.mismatched);
}
