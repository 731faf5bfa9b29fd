//! Regions that the program names: they lie in each other, by thread. A region is a path of names.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};

use mel_log::Definition;
use mel_log::settings::ATTRIBUTE;
use rustc_hash::{FxBuildHasher, FxHashMap};

use super::attributor::attributor;
use super::threads::{self, Entry, Thread};
use crate::warn;

/// The most regions of a process; those beyond count in what they lie in.
pub(super) const MAX_REGIONS: usize = 4096;

/// Nothing is known yet; the first region asks.
const UNKNOWN: u8 = 0;
/// Regions are noted: they may be attributed later, or are.
const NOTED: u8 = 1;
/// Nobody wants them.
const IGNORED: u8 = 2;

static STATE: AtomicU8 = AtomicU8::new(UNKNOWN);

/// Nobody wants regions any more: nothing is attributed, or this is the child of a fork.
pub(super) fn abandon() {
    STATE.store(IGNORED, Ordering::Relaxed);
    threads::note_regions(false);
}

/// Whether regions are noted. Before MPI is initialised the environment says it.
#[inline]
pub(super) fn are_noted() -> bool {
    match STATE.load(Ordering::Relaxed) {
        UNKNOWN => find_out(),
        state => state == NOTED,
    }
}

#[cold]
fn find_out() -> bool {
    let wanted = std::env::var_os(ATTRIBUTE.name).is_some_and(|list| !list.is_empty() && list != "none");
    STATE.store(if wanted { NOTED } else { IGNORED }, Ordering::Relaxed);
    wanted
}

/// All regions of this process.
#[derive(Debug)]
struct Regions {
    numbers: FxHashMap<(u16, u64), u16>,
    /// By number, from 1.
    paths: Vec<String>,
    /// Regions that were not defined in a table yet, from this one on.
    undefined: usize,
    lost: u64,
    mismatched: u64,
}

static REGIONS: Mutex<Regions> = Mutex::new(Regions {
    numbers: FxHashMap::with_hasher(FxBuildHasher),
    paths: Vec::new(),
    undefined: 0,
    lost: 0,
    mismatched: 0,
});

fn hash(name: &[u8]) -> u64 {
    use std::hash::BuildHasher as _;
    FxBuildHasher.hash_one(name)
}

impl Regions {
    /// The number of a region of this name in another one; `None` where there are too many.
    fn number(&mut self, within: u16, hash: u64, name: &str) -> Option<u16> {
        if let Some(&number) = self.numbers.get(&(within, hash)) {
            return Some(number);
        }
        if self.paths.len() >= MAX_REGIONS {
            return None;
        }
        let path = match self.paths.get(usize::from(within).wrapping_sub(1)) {
            Some(outer) => format!("{outer}/{name}"),
            None => name.to_owned(),
        };
        self.paths.push(path);
        let number = self.paths.len() as u16;
        self.numbers.insert((within, hash), number);
        Some(number)
    }
}

/// What the end of a region does to those that a thread has begun: whether it fits the one that was begun last.
fn end_of(stack: &mut Vec<Entry>, hash: u64) -> bool {
    match stack.iter().rposition(|entry| entry.hash == hash) {
        // Those in it were not ended: they end with it.
        Some(place) => {
            let fits = place + 1 == stack.len();
            stack.truncate(place);
            fits
        }
        None => false,
    }
}

/// Something happens to regions of which the table has the number, and the user a line.
fn tell(lost: bool) {
    let mut regions = REGIONS.lock().unwrap_or_else(PoisonError::into_inner);
    let count = if lost { &mut regions.lost } else { &mut regions.mismatched };
    *count += 1;
    let first = *count == 1;
    if let Some(attributor) = attributor() {
        attributor.count_of_regions(regions.lost, regions.mismatched);
    }
    drop(regions);
    if first && lost {
        warn(&format!(
            "the program has begun more than {MAX_REGIONS} different regions: those beyond count in what they lie in"
        ));
    } else if first {
        warn(
            "a region was ended that was not the last one begun: regions in it end with it, and one that was not begun is ignored",
        );
    }
}

/// A region of this name begins in this thread.
pub(super) fn begin(name: &[u8]) {
    let thread = threads::this();
    let (within, hash) = (thread.region.get(), hash(name));
    let at_hand = thread.known.borrow().get(&(within, hash)).copied();
    let region = at_hand.or_else(|| find(thread, within, hash, name));
    if let Some(attributor) = attributor() {
        attributor.between_calls(thread);
    }
    thread.stack.borrow_mut().push(Entry { region: region.unwrap_or(within), hash });
    thread.region.set(region.unwrap_or(within));
    threads::note_regions(true);
    if region.is_none() {
        tell(true);
    }
}

#[cold]
fn find(thread: &Thread, within: u16, hash: u64, name: &[u8]) -> Option<u16> {
    let name = crate::phases::kept_name(name);
    let number = REGIONS.lock().unwrap_or_else(PoisonError::into_inner).number(within, hash, &name)?;
    define_new();
    thread.known.borrow_mut().insert((within, hash), number);
    Some(number)
}

/// Regions that have no definition yet get one, where there is a table.
pub(super) fn define_new() {
    let Some(attributor) = attributor().filter(|attributor| attributor.is_active()) else { return };
    let mut regions = REGIONS.lock().unwrap_or_else(PoisonError::into_inner);
    for (place, path) in regions.paths.iter().enumerate().skip(regions.undefined) {
        attributor.define(&Definition::Region { number: place as u16 + 1, path: path.clone() });
        if let Some(plugins) = crate::plugins::host() {
            plugins.region(path);
        }
    }
    regions.undefined = regions.paths.len();
    attributor.count_of_regions(regions.lost, regions.mismatched);
}

/// The region of this name ends in this thread.
pub(super) fn end(name: &[u8]) {
    let thread = threads::this();
    if let Some(attributor) = attributor() {
        attributor.between_calls(thread);
    }
    let mut stack = thread.stack.borrow_mut();
    let fits = end_of(&mut stack, hash(name));
    thread.region.set(stack.last().map_or(0, |entry| entry.region));
    drop(stack);
    if !fits {
        tell(false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn regions() -> Regions {
        Regions { numbers: FxHashMap::default(), paths: Vec::new(), undefined: 0, lost: 0, mismatched: 0 }
    }

    #[test]
    fn a_region_is_a_path_and_the_same_path_is_the_same_region() {
        let mut all = regions();
        let mut number = |within, name: &str| all.number(within, hash(name.as_bytes()), name);
        let main = number(0, "main").unwrap();
        let solve = number(main, "solve").unwrap();
        assert_eq!((main, solve), (1, 2));
        assert_eq!(number(0, "solve"), Some(3));
        assert_eq!(number(main, "solve"), Some(solve));
        assert_eq!(all.paths, ["main", "main/solve", "solve"]);
    }

    #[test]
    fn beyond_the_last_number_there_is_none() {
        let mut all = regions();
        for name in 0..MAX_REGIONS {
            assert!(all.number(0, name as u64, "x").is_some());
        }
        assert_eq!(all.number(0, u64::MAX, "y"), None);
        assert_eq!(all.number(0, 5, "x"), Some(6));
    }

    #[test]
    fn an_end_that_does_not_fit_ends_what_lies_in_it_or_nothing() {
        let entry = |hash| Entry { region: hash as u16, hash };
        let mut stack = vec![entry(1), entry(2), entry(3)];
        assert!(end_of(&mut stack, 3));
        assert!(!end_of(&mut stack, 9));
        assert_eq!(stack, [entry(1), entry(2)]);
        assert!(!end_of(&mut stack, 1), "the second was not ended");
        assert!(stack.is_empty() && !end_of(&mut stack, 1));
    }
}
