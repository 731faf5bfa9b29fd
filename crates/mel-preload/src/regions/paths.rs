//! The numbers of regions. A region is a path of names.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rustc_hash::{FxBuildHasher, FxHashMap};

/// The most regions of a process; those beyond count in what they lie in.
pub(super) const MAX_REGIONS: usize = 4096;

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
    fn beyond_the_last_number_there_is_none() {
        let mut all = regions();
        for name in 0..MAX_REGIONS {
            assert!(all.number(0, name as u64, "x").is_some());
        }
        assert_eq!(all.number(0, u64::MAX, "y"), None);
        assert_eq!(all.number(0, 5, "x"), Some(6));
    }
}
