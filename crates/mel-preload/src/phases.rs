//! Phases of the program: what is counted is counted by phase, which the program names (`mel_phase`, `MPI_Pcontrol`).
//!
//! A phase is a number, which is part of the key of what is counted. While counting is stopped the number is [`STOPPED`]: what
//! is counted under that is left out by all readers, so that nothing asks on the hot path whether to count. A phase holds for the
//! process, whichever thread has set it. Here is where the program is; [`asked`](crate::asked) is how it gets there.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

pub use mel_log::table::layout::{MAX_PHASES, STOPPED};

/// The levels of `MPI_Pcontrol` from here on name phases: `3`, `4`, ... Those below have a meaning in MPI-5.0, section 15.2.4.
pub const FIRST_LEVEL: i32 = 3;

static CURRENT: AtomicU32 = AtomicU32::new(0);
static PHASES: Mutex<Phases> = Mutex::new(Phases::new());

/// The phase of the process: 0 where none was named, [`STOPPED`] while counting is stopped. For any thread.
#[inline(always)]
pub fn current() -> u16 {
    CURRENT.load(Ordering::Relaxed) as u16
}

/// The phases of this process.
pub(crate) fn all() -> MutexGuard<'static, Phases> {
    PHASES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the program has named, and where it is.
#[derive(Debug)]
pub(crate) struct Phases {
    names: Vec<String>,
    /// Their numbers.
    numbers: BTreeMap<String, u16>,
    /// The phase that was named last.
    named: u16,
    stopped: bool,
    /// Whether it was said that there are too many.
    warned: bool,
}

/// What a change of the phase has brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changed {
    /// A phase that was not there before.
    pub(crate) made: Option<u16>,
    /// Whether there are too many: the first time.
    pub(crate) full: bool,
    /// Whether there are too many.
    pub(crate) lost: bool,
}

impl Phases {
    /// Nothing was named.
    pub(crate) const fn new() -> Phases {
        Phases { names: Vec::new(), numbers: BTreeMap::new(), named: 0, stopped: false, warned: false }
    }

    /// What is counted now belongs to this number.
    pub(crate) fn current(&self) -> u16 {
        if self.stopped { STOPPED } else { self.named }
    }

    /// The program is in the phase of this name now; an empty name is that of no phase.
    pub(crate) fn name(&mut self, name: &str) -> Changed {
        let mut changed = Changed::default();
        self.named = match self.numbers.get(name) {
            _ if name.is_empty() => 0,
            Some(&number) => number,
            None if self.names.len() + 1 < MAX_PHASES => {
                self.names.push(name.to_owned());
                let number = self.names.len() as u16;
                self.numbers.insert(name.to_owned(), number);
                changed.made = Some(number);
                number
            }
            None => {
                changed.lost = true;
                changed.full = !std::mem::replace(&mut self.warned, true);
                self.names.len() as u16
            }
        };
        changed
    }

    /// Counting stops, or goes on.
    pub(crate) fn stop(&mut self, stopped: bool) -> Changed {
        self.stopped = stopped;
        Changed::default()
    }

    /// The process counts in this phase from now on.
    pub(crate) fn publish(&self) {
        CURRENT.store(self.current().into(), Ordering::Relaxed);
    }

    /// The name of the phase that was named last, and whether counting goes on.
    pub(crate) fn now(&self) -> (&str, bool) {
        (self.name_of(self.named), !self.stopped)
    }

    /// The name of a phase; empty for none.
    pub(crate) fn name_of(&self, number: u16) -> &str {
        usize::from(number).checked_sub(1).and_then(|place| self.names.get(place)).map_or("", String::as_str)
    }

    /// Numbers and names of all phases.
    pub(crate) fn names(&self) -> impl Iterator<Item = (u16, &str)> {
        self.names.iter().enumerate().map(|(place, name)| (place as u16 + 1, name.as_str()))
    }
}

/// The most bytes of a name that are kept.
const MOST: usize = 255;

/// A name as it is kept: without blanks around it, as Fortran pads texts, and not too long.
pub(crate) fn kept_name(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim();
    let end = (0..=text.len().min(MOST)).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    text[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_no_blanks_around_them_and_an_end() {
        assert_eq!(kept_name(b"solve   "), "solve");
        assert_eq!(kept_name(b""), "");
        assert_eq!(kept_name(b"a\xffb"), "a\u{fffd}b");
        let long = "\u{e4}".repeat(300);
        assert_eq!(kept_name(long.as_bytes()).len(), 254);
    }

    #[test]
    fn the_same_name_is_the_same_phase() {
        let mut phases = Phases::new();
        assert_eq!(phases.current(), 0);
        assert_eq!(phases.name("solve").made, Some(1));
        assert_eq!(phases.name("write").made, Some(2));
        assert_eq!((phases.name("solve"), phases.current()), (Changed::default(), 1));
        assert_eq!((phases.name(""), phases.current()), (Changed::default(), 0));
        assert_eq!(phases.names().collect::<Vec<_>>(), [(1, "solve"), (2, "write")]);
    }

    #[test]
    fn a_phase_that_is_named_while_counting_is_stopped_begins_with_the_start() {
        let mut phases = Phases::new();
        phases.name("one");
        phases.stop(true);
        assert_eq!(phases.current(), STOPPED);
        phases.name("two");
        assert_eq!(phases.current(), STOPPED);
        phases.stop(false);
        assert_eq!(phases.current(), 2);
    }

    #[test]
    fn beyond_the_last_number_phases_share_it_and_that_is_said_once() {
        let mut phases = Phases::new();
        let full = (0..300).filter(|number| phases.name(&format!("phase {number}")).full).count();
        assert_eq!((full, phases.names().count()), (1, MAX_PHASES - 1));
        assert_eq!(usize::from(phases.current()), MAX_PHASES - 1);
        phases.name("phase 3");
        assert_eq!(phases.current(), 4);
    }
}
