//! What plugins have asked for, until it is done; and what they may read.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use mel_log::Definition;
use mel_plugin::raw;
use smallvec::SmallVec;

/// So many control variables may wait to be set.
const MOST_SETTINGS: usize = 64;
/// So many lines a process keeps.
const MOST_LINES: usize = 1024;
/// No line is longer, in bytes.
const LONGEST: usize = 4096;

/// A control variable that a plugin wants to set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Setting {
    /// The plugin, by its place.
    pub(super) plugin: usize,
    pub(super) name: String,
    pub(super) value: String,
}

/// What the calls of a function were.
type Calls = dyn Fn(&str) -> Option<raw::Calls> + Send + Sync;

/// Shared by the threads of the program, which do what was asked for, and the thread that the plugins run on.
pub(super) struct Shared {
    /// Whether there is something to be done at the entry of the next call.
    pub(super) attends: AtomicBool,
    asked: Mutex<Asked>,
    /// The last samples by name.
    last: Mutex<HashMap<String, SmallVec<[f64; 2]>>>,
    pub(super) calls: Box<Calls>,
}

#[derive(Default)]
struct Asked {
    settings: VecDeque<Setting>,
    lines: Vec<Definition>,
    /// All lines until now.
    told: usize,
    /// Nothing is taken any more.
    is_closed: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    pub(super) fn new(calls: Box<Calls>) -> Shared {
        Shared { attends: AtomicBool::new(false), asked: Mutex::default(), last: Mutex::default(), calls }
    }

    /// A control variable is to be set; whether it will be tried.
    pub(super) fn set(&self, setting: Setting) -> bool {
        let mut asked = lock(&self.asked);
        let fits = !asked.is_closed && asked.settings.len() < MOST_SETTINGS && !setting.name.is_empty();
        if fits {
            asked.settings.push_back(setting);
            self.attends.store(true, Ordering::Release);
        }
        fits
    }

    /// A plugin has told something; whether there was space.
    pub(super) fn tell(&self, plugin: &str, name: &str, value: &str) -> bool {
        let mut asked = lock(&self.asked);
        let fits = !asked.is_closed && asked.told < MOST_LINES && name.len() + value.len() <= LONGEST;
        if fits {
            let (plugin, name, value) = (plugin.to_owned(), name.to_owned(), value.to_owned());
            asked.lines.push(Definition::Told { plugin, name, value });
            asked.told += 1;
            self.attends.store(true, Ordering::Release);
        }
        fits
    }

    /// What was asked for since the last time. Where `closes`, there is no next time.
    pub(super) fn take(&self, closes: bool) -> (VecDeque<Setting>, Vec<Definition>) {
        let mut asked = lock(&self.asked);
        asked.is_closed |= closes;
        self.attends.store(false, Ordering::Relaxed);
        (std::mem::take(&mut asked.settings), std::mem::take(&mut asked.lines))
    }

    /// The last sample of a variable: the only value, or the sum and the elements.
    pub(super) fn keep(&self, name: &str, values: &[f64]) {
        let mut last = lock(&self.last);
        match last.get_mut(name) {
            Some(known) => *known = SmallVec::from_slice(values),
            None => _ = last.insert(name.to_owned(), SmallVec::from_slice(values)),
        }
    }

    /// The last sample of a variable: its elements, or its only value.
    pub(super) fn last(&self, name: &str) -> SmallVec<[f64; 2]> {
        let last = lock(&self.last);
        match last.get(name) {
            Some(values) if values.len() > 1 => SmallVec::from_slice(&values[1..]),
            Some(values) => values.clone(),
            None => SmallVec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_much_is_refused_and_nothing_is_taken_after_the_end() {
        let shared = Shared::new(Box::new(|_| None));
        let setting = || Setting { plugin: 0, name: "a".into(), value: "1".into() };
        assert_eq!((0..100).filter(|_| shared.set(setting())).count(), MOST_SETTINGS);
        assert!(shared.attends.load(Ordering::Relaxed));
        assert_eq!(shared.take(false).0.len(), MOST_SETTINGS);
        assert!(!shared.attends.load(Ordering::Relaxed) && shared.set(setting()));
        assert_eq!((0..2000).filter(|number| shared.tell("p", "n", &number.to_string())).count(), MOST_LINES);
        let (settings, lines) = shared.take(true);
        assert_eq!((settings.len(), lines.len()), (1, MOST_LINES));
        assert!(!shared.set(setting()) && !shared.tell("p", "n", "v"));
    }

    #[test]
    fn a_read_gives_the_elements_where_there_are_some() {
        let shared = Shared::new(Box::new(|_| None));
        shared.keep("one", &[7.0]);
        shared.keep("three", &[6.0, 1.0, 2.0, 3.0]);
        shared.keep("one", &[8.0]);
        assert_eq!((&shared.last("one")[..], &shared.last("three")[..]), (&[8.0][..], &[1.0, 2.0, 3.0][..]));
        assert!(shared.last("none").is_empty());
    }
}
