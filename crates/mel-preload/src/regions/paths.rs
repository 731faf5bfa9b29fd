//! The numbers of regions. A region is a path of names.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustc_hash::{FxBuildHasher, FxHashMap};

/// The most regions of a process; those beyond count in what they lie in. Each call site has a context for each region that it is called in, and
/// contexts are for the whole profile.
const FEW: usize = 256;
/// The most where regions are asked for: variables are attributed.
const MANY: usize = 4096;

static MOST: AtomicUsize = AtomicUsize::new(FEW);

/// As many regions as there may be have numbers from now on.
pub(super) fn allow_many() {
    MOST.store(MANY, Ordering::Relaxed);
}

/// The most regions that have numbers.
pub(super) fn most() -> usize {
    MOST.load(Ordering::Relaxed)
}

/// A name as a part of a path: none is empty, nor are two.
pub(super) fn part(name: &str) -> String {
    if name.is_empty() { "(no name)".into() } else { name.replace('/', "|") }
}

/// All regions of this process.
#[derive(Debug)]
pub(super) struct Regions {
    numbers: FxHashMap<(u16, u64), u16>,
    /// By number, from 1.
    pub(super) paths: Vec<String>,
    /// Regions that were not defined in a table yet, from this one on.
    pub(super) undefined: usize,
    pub(super) lost: u64,
    pub(super) mismatched: u64,
}

static REGIONS: Mutex<Regions> = Mutex::new(Regions {
    numbers: FxHashMap::with_hasher(FxBuildHasher),
    paths: Vec::new(),
    undefined: 0,
    lost: 0,
    mismatched: 0,
});

pub(super) fn hash(name: &[u8]) -> u64 {
    use std::hash::BuildHasher as _;
    FxBuildHasher.hash_one(name)
}

impl Regions {
    /// The number of a region of this name in another one; `None` where there are too many.
    pub(super) fn number(&mut self, within: u16, hash: u64, name: &str) -> Option<u16> {
        if let Some(&number) = self.numbers.get(&(within, hash)) {
            return Some(number);
        }
        if self.paths.len() >= most() {
            return None;
        }
        let path = match self.paths.get(usize::from(within).wrapping_sub(1)) {
            Some(outer) => format!("{outer}/{}", part(name)),
            None => part(name),
        };
        self.paths.push(path);
        let number = self.paths.len() as u16;
        self.numbers.insert((within, hash), number);
        Some(number)
    }
}

/// The regions of this process.
pub(super) fn all() -> MutexGuard<'static, Regions> {
    REGIONS.lock().unwrap_or_else(PoisonError::into_inner)
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
    fn a_name_is_one_part_of_a_path() {
        let mut all = regions();
        let outer = all.number(0, hash(b"I/O"), "I/O").unwrap();
        all.number(outer, hash(b""), "");
        assert_eq!(all.paths, ["I|O", "I|O/(no name)"]);
    }

    #[test]
    fn beyond_the_last_number_there_is_none() {
        let mut all = regions();
        for name in 0..most() {
            assert!(all.number(0, name as u64, "x").is_some());
        }
        assert_eq!(all.number(0, u64::MAX, "y"), None);
        assert_eq!(all.number(0, 5, "x"), Some(6));
    }
}
