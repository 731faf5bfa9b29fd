//! Which variables are attributed, and how each is read.

use mel_log::Definition;
use mel_log::choice::Choice;
use mel_log::table::Arithmetic;
use mel_log::table::layout::MAX_ATTRIBUTED;
use mpi_abi::{Abi, Handle as _};
use mpit_events::BindKind;
use mpit_events_entry_points::reading::{Bound, Described, Number, Reading};
use mpit_vars::direct::Direct;

use crate::vars::class_name;

/// The parts of a second, and of other numbers with a fraction, that values are kept in: so that differences add up to the last one.
const PARTS_OF_SECOND: f64 = 4_294_967_296.0;
const PARTS_OF_OTHERS: f64 = 65_536.0;

/// A variable of ours that a load or two read.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) what: Direct,
    /// Its place in the table.
    pub(super) place: usize,
    pub(super) arithmetic: Arithmetic,
}

/// A variable that a function reads.
#[derive(Debug)]
pub(super) struct ReadOut {
    pub(super) bound: Bound,
    pub(super) place: usize,
    pub(super) arithmetic: Arithmetic,
    /// Its values are kept in so many parts.
    pub(super) parts: f64,
    /// Where it begins again at zero, in parts; 0 for nowhere.
    pub(super) wraps_at: u64,
}

/// All that is attributed.
#[derive(Debug, Default)]
pub(super) struct Chosen {
    pub(super) loaded: Vec<Loaded>,
    pub(super) read_out: Vec<ReadOut>,
    pub(super) definitions: Vec<Definition>,
    /// The names of all variables that there are.
    pub(super) names: Vec<String>,
    /// Variables that found no space.
    pub(super) left_out: usize,
}

/// In how many parts values of a variable are kept.
fn parts_of(class: &str, element: Number) -> f64 {
    match (element, class) {
        (Number::Double, "timer") => PARTS_OF_SECOND,
        (Number::Double, _) => PARTS_OF_OTHERS,
        _ => 1.0,
    }
}

impl Chosen {
    /// Finds what was chosen, and makes handles. Where the program may call MPI. `ticks_per_second` is that of the clock of our times.
    pub(super) fn find(abi: &Abi, reading: &Reading, choice: &Choice, ticks_per_second: u64) -> Chosen {
        let mut chosen = Chosen::default();
        for number in 0..reading.count() {
            let Some(variable) = reading.describe(number) else { continue };
            chosen.names.push(variable.name.clone());
            if choice.wants(&[&variable.name]) {
                chosen.add(abi, reading, &variable, ticks_per_second);
            }
        }
        chosen
    }

    fn add(&mut self, abi: &Abi, reading: &Reading, variable: &Described, ticks_per_second: u64) {
        let class = class_name(variable.class);
        let arithmetic = Arithmetic::of_class(class);
        let place = self.loaded.len() + self.read_out.len();
        let define = |place: Option<usize>, object: &str, parts: f64| Definition::Attributed {
            place: place.map(|place| place as u16),
            name: variable.name.clone(),
            description: variable.description.clone(),
            class: class.into(),
            object: object.into(),
            of_mpi: !variable.is_ours,
            parts,
        };
        let (Some(arithmetic), Some(element)) = (arithmetic, variable.element) else {
            return self.definitions.push(define(None, "", 1.0));
        };
        if place >= MAX_ATTRIBUTED {
            self.left_out += 1;
            return self.definitions.push(define(None, "", 1.0));
        }
        if let Some(what) = reading.direct(variable) {
            // Nanoseconds, as the variable has them.
            let parts = if what.is_ticks() { ticks_per_second as f64 / 1e9 } else { 1.0 };
            self.definitions.push(define(Some(place), "", parts));
            return self.loaded.push(Loaded { what, place, arithmetic });
        }
        let world = abi.constants.comm_world.word();
        let (object, name) = match variable.bind {
            BindKind::None => (None, ""),
            BindKind::Comm if !abi.has_adopted_a_world() => (Some(world), "MPI_COMM_WORLD"),
            // There is none when the run begins.
            _ => return self.definitions.push(define(None, "", 1.0)),
        };
        let Some(bound) = reading.bind(variable, object) else {
            return self.definitions.push(define(None, name, 1.0));
        };
        let parts = parts_of(class, element);
        let wraps_at = bound.element().wraps_at().filter(|_| bound.count() == 1 && parts == 1.0);
        let wraps_at = wraps_at.filter(|at| *at < 2f64.powi(63)).map_or(0, |at| at as u64);
        self.definitions.push(define(Some(place), name, parts));
        self.read_out.push(ReadOut { bound, place, arithmetic, parts, wraps_at });
    }

    /// How many are attributed.
    pub(super) fn count(&self) -> usize {
        self.loaded.len() + self.read_out.len()
    }
}

impl ReadOut {
    /// Its value now, in parts; `None` where there is none. An array has the sum of its elements. `scratch` is for these.
    pub(super) fn read(&mut self, scratch: &mut Vec<f64>) -> Option<u64> {
        if !self.bound.read(scratch) || scratch.is_empty() {
            return None;
        }
        // Some MPIs have values that are no numbers until there is one.
        let sum: f64 = scratch.iter().sum();
        (sum.is_finite() && sum >= 0.0).then_some((sum * self.parts) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_with_a_fraction_are_kept_in_parts() {
        assert_eq!(parts_of("timer", Number::Double), PARTS_OF_SECOND);
        assert_eq!(parts_of("percentage", Number::Double), PARTS_OF_OTHERS);
        assert_eq!(parts_of("timer", Number::Unsigned(8)), 1.0);
    }
}
