//! Numbers, handles and values of control variables, beside a model that keeps flat lists.

use std::sync::{Arc, Mutex};

use mpit_vars::control::{Contents, Control, Description, Domain, Scope};
use mpit_vars::controls::{Controls, Whose};
use mpit_vars::{Error, Numbered as _, Owner, Verbosity};
use proptest::prelude::*;

/// Variables of ours of each kind, by their numbers.
const OURS: usize = 5;

fn domain(variable: usize) -> Domain {
    match variable {
        0 => Domain::Choice(&[(0, "off"), (1, "on"), (7, "seven")]),
        1 => Domain::Number { least: 10, most: 20, or_zero: true },
        2 => Domain::Text(4),
        _ => Domain::Number { least: 0, most: u64::MAX, or_zero: false },
    }
}

fn scope(variable: usize) -> Scope {
    if variable == 3 { Scope::ReadOnly } else { Scope::Local }
}

/// What the standard and the domains allow, said once more.
fn expected(variable: usize, contents: &Contents) -> Result<(), Error> {
    let is_in = match (variable, contents) {
        (3, _) => return Err(Error::SetNever),
        (0, Contents::Choice(item)) => [0, 1, 7].contains(item),
        (1, Contents::Number(number)) => *number == 0 || *number >= 10 && *number <= 20,
        (2, Contents::Text(text)) => text.len() <= 3,
        (4, Contents::Number(number)) => *number != 13,
        _ => false,
    };
    match (is_in, variable) {
        (true, _) => Ok(()),
        (false, 4) if *contents == Contents::Number(13) => Err(Error::SetNotNow),
        _ => Err(Error::OutOfRange),
    }
}

fn first(variable: usize) -> Contents {
    match variable {
        0 => Contents::Choice(1),
        2 => Contents::Text("ab".into()),
        _ => Contents::Number(0),
    }
}

struct Kept(usize, Mutex<Contents>);

impl Control for Kept {
    fn read(&self) -> Contents {
        self.1.lock().unwrap().clone()
    }

    fn write(&self, contents: &Contents) -> Result<(), Error> {
        if self.0 == 4 && *contents == Contents::Number(13) {
            return Err(Error::SetNotNow);
        }
        *self.1.lock().unwrap() = contents.clone();
        Ok(())
    }
}

#[derive(Clone, Debug)]
enum Step {
    /// The MPI adds variables, and we do; a tool asks how many there are.
    Grow(usize, usize),
    AllocOurs(usize),
    /// The MPI gives a handle: a new one, or one that it has given before.
    AllocMpi(Option<usize>),
    Free(usize),
    Read(usize),
    Write(usize, Contents),
    EndAll,
}

fn step() -> impl Strategy<Value = Step> {
    let contents = prop_oneof![
        (-1..9i32).prop_map(Contents::Choice),
        prop_oneof![0..25u64, Just(u64::MAX)].prop_map(Contents::Number),
        "[a-c]{0,5}".prop_map(Contents::Text),
    ];
    let handle = 0..16usize;
    prop_oneof![
        1 => (0..3usize, 0..2usize).prop_map(|(mpi, ours)| Step::Grow(mpi, ours)),
        4 => (0..OURS + 1).prop_map(Step::AllocOurs),
        2 => proptest::option::of(0..4usize).prop_map(Step::AllocMpi),
        3 => handle.clone().prop_map(Step::Free),
        4 => handle.clone().prop_map(Step::Read),
        8 => (handle, contents).prop_map(|(handle, contents)| Step::Write(handle, contents)),
        1 => Just(Step::EndAll),
    ]
}

/// A handle that a tool has: its word, whether it lives, and the variable of ours that it is for.
type Held = (usize, bool, Option<usize>);

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn controls_agree_with_a_naive_model(steps in proptest::collection::vec(step(), 1..80)) {
        let controls = Controls::default();
        let add = |number: usize, kind: usize| {
            let description = Description {
                name: format!("v{number}").into(),
                description: "".into(),
                verbosity: Verbosity::UserBasic,
                scope: scope(kind),
                domain: domain(kind),
            };
            controls.add(description, Arc::new(Kept(kind, Mutex::new(first(kind)))))
        };
        for variable in 0..OURS {
            prop_assert_eq!(add(variable, variable), Ok(variable));
            prop_assert_eq!(add(variable, variable), Err(Error::InvalidName));
        }
        let (mut of_mpi, mut ours) = (0, OURS);
        let mut numbers: Vec<Owner> = Vec::new();
        let mut values: Vec<Contents> = (0..OURS).map(first).collect();
        let mut held: Vec<Held> = Vec::new();
        // As the MPI's words: addresses.
        let mut next_of_mpi = 0x7f00_0000_1000usize;
        for step in steps {
            match step {
                Step::Grow(mpi, more) => {
                    for _ in 0..more {
                        prop_assert_eq!(add(ours, 1), Ok(ours));
                        ours += 1;
                    }
                    of_mpi += mpi;
                    let all = (0..of_mpi).map(Owner::Mpi).chain((0..ours).map(Owner::Ours));
                    let new: Vec<Owner> = all.filter(|owner| !numbers.contains(owner)).collect();
                    numbers.extend(new);
                    prop_assert_eq!(controls.refresh(of_mpi), numbers.len());
                }
                Step::AllocOurs(variable) => {
                    // One beyond the end.
                    let variable = if variable == OURS { 10_000 } else { variable };
                    match controls.alloc(variable) {
                        Ok((word, entry)) => {
                            prop_assert!(variable < OURS && entry.index == variable);
                            prop_assert!(held.iter().all(|other| other.0 != word), "a handle is never given twice");
                            held.push((word, true, Some(variable)));
                        }
                        Err(error) => prop_assert_eq!((error, variable), (Error::InvalidIndex, 10_000)),
                    }
                }
                Step::AllocMpi(again) => {
                    let known: Vec<usize> = held.iter().filter(|(.., of)| of.is_none()).map(|held| held.0).collect();
                    let word = again.and_then(|place| known.get(place).copied()).unwrap_or_else(|| {
                        next_of_mpi += 0x40;
                        next_of_mpi
                    });
                    controls.add_handle_of_mpi(word);
                    held.push((word, true, None));
                }
                Step::Free(place) => {
                    let word = held.get(place).map_or(0x1234 + place, |held| held.0);
                    // Of several that are the same word, any may be the one that ends.
                    let live = held.iter_mut().find(|held| held.0 == word && held.1);
                    let freed = controls.free(word).map(|whose| matches!(whose, Whose::Ours(_)));
                    match live {
                        Some(live) => {
                            prop_assert_eq!(freed, Ok(live.2.is_some()));
                            live.1 = false;
                        }
                        None => prop_assert_eq!(freed, Err(Error::InvalidHandle)),
                    }
                }
                Step::Read(place) | Step::Write(place, _) => {
                    let word = held.get(place).map_or(0x1234 + place, |held| held.0);
                    let live = held.iter().find(|held| held.0 == word && held.1);
                    match (controls.handle(word), live) {
                        (Err(error), None) => prop_assert_eq!(error, Error::InvalidHandle),
                        (Ok(Whose::Mpi), Some((.., None))) => {}
                        (Ok(Whose::Ours(entry)), Some((.., Some(variable)))) => {
                            prop_assert_eq!(entry.index, *variable);
                            if let Step::Write(_, contents) = &step {
                                let allowed = expected(*variable, contents);
                                prop_assert_eq!(entry.write(contents), allowed, "{} {:?}", variable, contents);
                                if allowed.is_ok() {
                                    values[*variable] = contents.clone();
                                }
                            }
                            prop_assert_eq!(&entry.read(), &values[*variable]);
                        }
                        (got, live) => prop_assert!(false, "{got:?} is not {live:?}"),
                    }
                }
                Step::EndAll => {
                    controls.end_all();
                    held.iter_mut().for_each(|held| held.1 = false);
                }
            }
            for (number, owner) in numbers.iter().enumerate() {
                prop_assert_eq!(controls.owner(number as i32), Ok(*owner));
                prop_assert_eq!(controls.number_of(*owner), Some(number as i32));
            }
            prop_assert_eq!(controls.owner(numbers.len() as i32), Err(Error::InvalidIndex));
            prop_assert_eq!(controls.owner(-1), Err(Error::InvalidIndex));
        }
    }
}
