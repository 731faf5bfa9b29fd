//! Some of the rows, by kind, communicator and phase.

use std::collections::{BTreeMap, BTreeSet};

use mel_log::choice::Choice as Patterns;
use mel_log::profile::phases::SHOWN_WITHOUT_NAME;
use mel_log::profile::{Traffic, TrafficKind};
use mel_log::settings::EXACT_RANKS;
use mpi_functions::Step;
use thiserror::Error;

use crate::rows::Rows;

/// How users name the communicator of rows of which none is known.
pub const NO_COMMUNICATOR: &str = "(unknown)";

/// The kinds that may be added to each other: what the program asks for.
pub const OF_PROGRAM: [TrafficKind; 4] =
    [TrafficKind::P2p, TrafficKind::Put, TrafficKind::Get, TrafficKind::Collective];

/// What is wrong with a choice.
#[derive(Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChoiceError {
    /// The profile has no traffic.
    #[error("the profile does not say who sends what to whom: measure with `mel run --profile matrix`")]
    NotCounted,
    /// It had it, but there are too many ranks for each to be kept.
    #[error(
        "the profile has sums over {0} ranks, and no rank of its own: set {setting} to more than that, and \
         measure with `mel run --profile matrix`",
        setting = EXACT_RANKS
    )]
    OnlySums(u32),
    /// Nothing there has such a name.
    #[error("there is no {what} {name} in this run, which has {known}")]
    Unknown {
        /// `kind`, `communicator` or `phase`.
        what: &'static str,
        /// The name.
        name: String,
        /// What there is.
        known: String,
    },
    /// Kinds of which one holds what the other does.
    #[error(
        "{0} and {1} are not to be added up: {1} is what the library has moved, for the program's calls or for itself. \
         Kinds that add up: p2p, put, get, collective"
    )]
    NotAdded(&'static str, &'static str),
    /// Not a pattern.
    #[error("{0}")]
    Pattern(String),
}

/// What users ask for: lists of names, separated by commas; of communicators and phases with wildcards.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asked<'a> {
    /// Names of kinds; none for what the program asks for, or, if it asks for nothing, what the library has carried.
    pub kinds: Option<&'a str>,
    /// Names of communicators; none for all.
    pub communicators: Option<&'a str>,
    /// Names of phases; none for all.
    pub phases: Option<&'a str>,
}

/// Some of the rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The kinds.
    pub kinds: Vec<TrafficKind>,
    communicators: Option<BTreeSet<Option<u32>>>,
    phases: Option<BTreeSet<u32>>,
    /// Collective operations whose messages inside of the library stand for them.
    inside: BTreeSet<String>,
}

impl Choice {
    /// All rows of these kinds.
    pub fn of_kinds(kinds: &[TrafficKind]) -> Choice {
        Choice { kinds: kinds.to_vec(), communicators: None, phases: None, inside: BTreeSet::new() }
    }

    /// Whether it has this row.
    pub fn has(&self, row: &Traffic) -> bool {
        let is_of_kind = match row.kind {
            TrafficKind::Internal if self.inside.contains(&row.function) => true,
            TrafficKind::Collective if self.inside.contains(&row.operation) => false,
            kind => self.kinds.contains(&kind),
        };
        is_of_kind
            && self.communicators.as_ref().is_none_or(|chosen| chosen.contains(&row.communicator))
            && self.phases.as_ref().is_none_or(|chosen| chosen.contains(&row.phase))
    }

    /// The same, but collective operations are the messages that the library has made of them, where all of these can have been seen:
    /// - each rank that takes part in operations of a name has sent or got some;
    /// - they have at least the bytes that the operations move;
    /// - none were taken for the program's own, as Open MPI's component takes those of persistent requests;
    /// - operations of that name return when they are done: messages of others go out in the calls that wait, too.
    ///
    /// Else they are logical pairs as without.
    #[must_use]
    pub fn as_inside(&self, rows: &Rows<'_>) -> Choice {
        if self.communicators.is_some() || !self.kinds.contains(&TrafficKind::Collective) {
            return self.clone();
        }
        #[derive(Default)]
        struct Seen {
            ranks: BTreeSet<u32>,
            bytes: u64,
        }
        let mut calls = BTreeMap::<&str, Seen>::new();
        let mut inside = BTreeMap::<&str, Seen>::new();
        let mut strays = BTreeSet::<&str>::new();
        for (rank, row) in rows.all() {
            let (seen, peer) = match row.kind {
                TrafficKind::Internal => (inside.entry(&row.function).or_default(), row.peer),
                TrafficKind::Collective => (calls.entry(&row.operation).or_default(), None),
                TrafficKind::Carried => {
                    strays.insert(&row.function);
                    continue;
                }
                _ => continue,
            };
            seen.ranks.extend([Some(rank), peer].into_iter().flatten());
            seen.bytes = seen.bytes.saturating_add(row.bytes);
        }
        let blocks = |name: &str| mpi_functions::named(name).is_some_and(|about| about.step == Step::Blocks);
        calls.retain(|name, calls| {
            let all = |seen: &Seen| calls.ranks.is_subset(&seen.ranks) && calls.bytes <= seen.bytes;
            blocks(name) && !strays.contains(name) && inside.get(name).is_some_and(all)
        });
        Choice { inside: calls.into_keys().map(str::to_owned).collect(), ..self.clone() }
    }

    /// The collective operations whose messages inside of the library stand for them.
    pub fn inside(&self) -> impl Iterator<Item = &str> {
        self.inside.iter().map(String::as_str)
    }

    /// The same of these kinds.
    #[must_use]
    pub fn with_kinds(&self, kinds: &[TrafficKind]) -> Choice {
        Choice { kinds: kinds.to_vec(), ..self.clone() }
    }

    /// The same of one phase.
    #[must_use]
    pub fn with_phase(&self, phase: u32) -> Choice {
        Choice { phases: Some(BTreeSet::from([phase])), ..self.clone() }
    }

    /// What was asked for, kinds that add up.
    ///
    /// # Errors
    /// [`ChoiceError`]: there is no traffic, or nothing of such a name, or kinds do not add up.
    pub fn of(rows: &Rows<'_>, asked: Asked<'_>) -> Result<Choice, ChoiceError> {
        let choice = Choice::apart(rows, asked)?;
        let by_library = choice.kinds.iter().find(|kind| !OF_PROGRAM.contains(kind)).copied();
        match (asked.kinds, by_library) {
            (Some(_), Some(by_library)) => match choice.kinds.iter().find(|kind| **kind != by_library) {
                Some(other) => Err(ChoiceError::NotAdded(other.name(), by_library.name())),
                None => Ok(choice),
            },
            (None, Some(_)) => {
                let of_program: Vec<_> =
                    choice.kinds.iter().copied().filter(|kind| OF_PROGRAM.contains(kind)).collect();
                let kinds = if of_program.is_empty() { choice.kinds[..1].to_vec() } else { of_program };
                Ok(Choice { kinds, ..choice })
            }
            (_, None) => Ok(choice),
        }
    }

    /// What was asked for, for who keeps the kinds apart: without a list of kinds all.
    ///
    /// # Errors
    /// [`ChoiceError`]: there is no traffic, or nothing of such a name.
    pub fn apart(rows: &Rows<'_>, asked: Asked<'_>) -> Result<Choice, ChoiceError> {
        let there = There::of(rows);
        if there.kinds.is_empty() {
            return Err(match &rows.profile.reduced {
                Some(reduced) => ChoiceError::OnlySums(reduced.ranks),
                None => ChoiceError::NotCounted,
            });
        }
        let kinds: Vec<TrafficKind> = there.kinds.iter().copied().collect();
        let names: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
        let kinds = match chosen("kind", asked.kinds, &names)? {
            None => kinds,
            Some(places) => places.into_iter().map(|place| kinds[place]).collect(),
        };
        let known: Vec<Option<u32>> = there.communicators.iter().copied().collect();
        let names: Vec<&str> = known.iter().map(|place| communicator(rows, *place)).collect();
        let communicators = chosen("communicator", asked.communicators, &names)?
            .map(|places| places.into_iter().map(|place| known[place]).collect());
        let known: Vec<u32> = there.phases.iter().copied().collect();
        let names: Vec<&str> = known.iter().map(|place| phase(rows, *place)).collect();
        let phases = chosen("phase", asked.phases, &names)?
            .map(|places| places.into_iter().map(|place| known[place]).collect());
        Ok(Choice { kinds, communicators, phases, inside: BTreeSet::new() })
    }
}

/// What the rows of a run have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct There {
    /// Kinds with senders and receivers.
    pub kinds: BTreeSet<TrafficKind>,
    /// Places of their communicators.
    pub communicators: BTreeSet<Option<u32>>,
    /// Places of their phases.
    pub phases: BTreeSet<u32>,
}

impl There {
    /// What these rows have.
    pub fn of(rows: &Rows<'_>) -> There {
        let mut there = There::default();
        for (_, row) in rows.all() {
            there.kinds.insert(row.kind);
            there.communicators.insert(row.communicator);
            there.phases.insert(row.phase);
        }
        there
    }
}

/// The name of a communicator.
pub fn communicator<'a>(rows: &Rows<'a>, place: Option<u32>) -> &'a str {
    let known = place.and_then(|place| rows.profile.communicators.get(place as usize));
    known.map_or(NO_COMMUNICATOR, |known| &known.name)
}

/// The name of a phase.
pub fn phase<'a>(rows: &Rows<'a>, place: u32) -> &'a str {
    let known = rows.profile.phases.get(place as usize).map_or("", String::as_str);
    if known.is_empty() { SHOWN_WITHOUT_NAME } else { known }
}

/// The places of the names in a list; none where there is no list.
fn chosen(what: &'static str, list: Option<&str>, names: &[&str]) -> Result<Option<Vec<usize>>, ChoiceError> {
    let Some(list) = list else { return Ok(None) };
    let fits = |pattern: &str| -> Result<Vec<usize>, ChoiceError> {
        // A name may have characters that are wildcards.
        let same = names.iter().enumerate().filter(|(_, name)| **name == pattern);
        let places: Vec<usize> = same.map(|(place, _)| place).collect();
        if !places.is_empty() {
            return Ok(places);
        }
        let wanted = Patterns::new(pattern, "").map_err(ChoiceError::Pattern)?;
        let fitting = names.iter().enumerate().filter(|(_, name)| wanted.wants(&[*name]));
        Ok(fitting.map(|(place, _)| place).collect())
    };
    // A name may have a comma, too.
    let mut places = fits_whole(list, names);
    if places.is_empty() {
        for pattern in list.split(',').map(str::trim).filter(|pattern| !pattern.is_empty()) {
            let fitting = fits(pattern)?;
            if fitting.is_empty() {
                return Err(unknown(what, pattern, names));
            }
            places.extend(fitting);
        }
        if places.is_empty() {
            return Err(unknown(what, "of an empty name", names));
        }
    }
    places.sort_unstable();
    places.dedup();
    Ok(Some(places))
}

fn fits_whole(list: &str, names: &[&str]) -> Vec<usize> {
    names.iter().enumerate().filter(|(_, name)| **name == list).map(|(place, _)| place).collect()
}

fn unknown(what: &'static str, name: &str, names: &[&str]) -> ChoiceError {
    let mut known: Vec<&str> = Vec::new();
    names.iter().for_each(|name| {
        if !known.contains(name) {
            known.push(name);
        }
    });
    let most = 12;
    let more = known.len().saturating_sub(most);
    let mut known = known.into_iter().take(most).collect::<Vec<_>>().join(", ");
    if more > 0 {
        known += &format!(" and {more} more");
    }
    ChoiceError::Unknown { what, name: name.to_owned(), known }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mel_log::profile::sample;

    fn of(asked: Asked<'_>) -> Result<Choice, String> {
        let profile = sample::traffic(4);
        Choice::of(&Rows::of(&profile), asked).map_err(|error| error.to_string())
    }

    #[test]
    fn without_a_list_it_is_what_the_program_asks_for() {
        let choice = of(Asked::default()).unwrap();
        assert_eq!(choice.kinds, OF_PROGRAM);
        let profile = sample::traffic(4);
        let all = Choice::apart(&Rows::of(&profile), Asked::default()).unwrap();
        assert_eq!(all.kinds.len(), 7);
    }

    #[test]
    fn what_is_not_there_is_an_error_that_lists_what_is() {
        let kind = of(Asked { kinds: Some("p2p,puts"), ..Asked::default() }).unwrap_err();
        assert!(
            kind.contains("no kind puts") && kind.contains("p2p, put, get, collective, internal"),
            "{kind}"
        );
        let communicator = of(Asked { communicators: Some("hallo"), ..Asked::default() }).unwrap_err();
        assert!(communicator.contains("MPI_COMM_WORLD, halo"), "{communicator}");
        let phase = of(Asked { phases: Some("x"), ..Asked::default() }).unwrap_err();
        assert!(phase.contains("(no phase), solve"), "{phase}");
        for ok in ["ha*", "HALO", "halo,MPI_COMM_WORLD", "*"] {
            assert!(of(Asked { communicators: Some(ok), ..Asked::default() }).is_ok(), "{ok}");
        }
        assert!(of(Asked { kinds: Some(""), ..Asked::default() }).is_err());
    }

    #[test]
    fn layers_are_never_added() {
        for wrong in ["p2p,carried", "carried,carried-in", "internal,carried", "*"] {
            let error = of(Asked { kinds: Some(wrong), ..Asked::default() }).unwrap_err();
            assert!(error.contains("not to be added up"), "{wrong}: {error}");
        }
        assert!(of(Asked { kinds: Some("carried"), ..Asked::default() }).is_ok());
    }

    #[test]
    fn messages_inside_stand_for_operations_that_all_their_ranks_are_seen_in() {
        let row = |kind, peer, function: &str, operation: &str| Traffic {
            kind,
            peer,
            function: function.into(),
            operation: operation.into(),
            communicator: Some(0),
            ..Traffic::default()
        };
        let collective = |name| row(TrafficKind::Collective, None, "", name);
        let internal = |peer, name| row(TrafficKind::Internal, Some(peer), name, "");
        let mut profile = sample::traffic(3);
        for (rank, of) in profile.ranks.iter_mut().enumerate() {
            of.traffic = vec![collective("MPI_Reduce"), collective("MPI_Bcast"), collective("MPI_Barrier")];
            // Of the broadcast one rank is not seen.
            match rank {
                0 => of.traffic.push(internal(1, "MPI_Bcast")),
                1 => of.traffic.extend([internal(0, "MPI_Reduce"), internal(2, "MPI_Reduce")]),
                _ => of.traffic.push(internal(0, "MPI_Init")),
            }
        }
        let rows = Rows::of(&profile);
        let all = Choice::of(&rows, Asked::default()).unwrap();
        let inside = all.as_inside(&rows);
        assert_eq!(inside.inside().collect::<Vec<_>>(), ["MPI_Reduce"]);
        assert!(inside.has(&internal(0, "MPI_Reduce")) && !inside.has(&collective("MPI_Reduce")));
        assert!(inside.has(&collective("MPI_Bcast")) && !inside.has(&internal(1, "MPI_Bcast")));
        assert!(!inside.has(&internal(0, "MPI_Init")));
        let lacks = |change: &dyn Fn(&mut Vec<Traffic>)| {
            let mut profile = profile.clone();
            change(&mut profile.ranks[1].traffic);
            let rows = Rows::of(&profile);
            Choice::of(&rows, Asked::default()).unwrap().as_inside(&rows).inside().count() == 0
        };
        // Operations with more bytes than were seen, messages taken for the program's own, and those of calls that wait.
        assert!(!lacks(&|_| {}));
        assert!(lacks(&|rows| rows.push(Traffic { bytes: 8, ..collective("MPI_Reduce") })));
        assert!(lacks(&|rows| rows.push(row(TrafficKind::Carried, Some(0), "MPI_Reduce", ""))));
        assert!(lacks(&|rows| {
            rows.retain(|row| row.kind != TrafficKind::Internal);
            rows.push(collective("MPI_Ireduce"));
            rows.extend([internal(0, "MPI_Ireduce"), internal(2, "MPI_Ireduce")]);
        }));
        let on_one = Choice::of(&rows, Asked { communicators: Some("*"), ..Asked::default() }).unwrap();
        assert_eq!(on_one.as_inside(&rows), on_one);
    }

    #[test]
    fn a_profile_without_traffic_has_a_remedy() {
        let error = |profile| Choice::of(&Rows::of(&profile), Asked::default()).unwrap_err().to_string();
        assert!(error(sample::late_rank(4, 1)).contains("mel run --profile matrix"));
        assert!(error(sample::reduced(3000, 1)).contains("MEL_EXACT_RANKS"));
    }
}
