//! The catalogue of quantities: what each number of a profile is called, what it is, how it is got from its row, and how the numbers of
//! several rows become one. Text, CSV, page, differences, Cube, and the tables of `docs/profile.md` are made from it; none of them has a
//! list of its own.
//!
//! - [`budget`](mod@budget): where the time of a rank goes.
//! - [`queues`], [`windows`](mod@windows): message queues and one-sided communication of a rank.
//! - [`calls`], [`communicators`]: what was done from each call site, and on each communicator.
//! - [`connections`](mod@connections): connections over networks, and interfaces.
//! - [`counters`](mod@counters): what the processor counted of a rank.
//! - [`sites`]: calls of all ranks together, by function and call site.
//! - [`times`]: times of a rank; [`run`]: a run as a whole, and how well its ranks are used.
//!
//! A derived number is an entry here. One that is counted is a field of its row in `profile.json`, and an entry.

use serde::{Deserialize, Serialize};

use super::schema::Profile;
use super::text::layout::percent;
use crate::number::{duration, general, size};

pub mod budget;
pub mod calls;
pub mod communicators;
pub mod connections;
pub mod counters;
pub mod queues;
pub mod run;
pub mod sites;
pub mod times;
pub mod windows;

/// How a quantity is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// A number of things.
    #[default]
    Count,
    /// A duration in seconds.
    Seconds,
    /// A size.
    Bytes,
    /// A share, 1 for all.
    Share,
    /// Things per second.
    PerSecond,
    /// Bytes per second.
    BytesPerSecond,
    /// A quotient, of which digits behind the point matter.
    Ratio,
    /// Cycles per second.
    Hertz,
}

impl Unit {
    /// Its symbol, in CSV and in the JSON of differences.
    pub const fn symbol(self) -> &'static str {
        match self {
            Unit::Count => "count",
            Unit::Seconds => "s",
            Unit::Bytes => "bytes",
            Unit::Share | Unit::Ratio => "1",
            Unit::PerSecond => "1/s",
            Unit::BytesPerSecond => "bytes/s",
            Unit::Hertz => "Hz",
        }
    }

    /// A number in this unit as text.
    pub fn text(self, value: f64) -> String {
        match self {
            Unit::Count | Unit::PerSecond if value.fract() != 0.0 => format!("{value:.1}"),
            Unit::Count | Unit::PerSecond => format!("{value:.0}"),
            Unit::Seconds => duration(value),
            Unit::Bytes | Unit::BytesPerSecond => size(value),
            Unit::Share => percent(value),
            Unit::Ratio => format!("{value:.2}"),
            Unit::Hertz => format!("{:.2} GHz", value * 1e-9),
        }
    }
}

/// How a quantity is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// Counted and timed at the calls, or read from the system.
    Observed,
    /// Of the queues: of the model; observed where the MPI itself reports its queues.
    Modelled,
    /// Computed from when calls began and ended.
    Estimated,
}

impl Basis {
    /// In a word, where the queue events came from this backend.
    pub fn word(self, backend: &str) -> &'static str {
        match self {
            Basis::Observed => "observed",
            Basis::Modelled if backend == "peruse" => "observed",
            Basis::Modelled => "modelled",
            Basis::Estimated => "estimated",
        }
    }

    /// In a word, in this run: queues in which some receives stand for others are estimated.
    pub fn word_in(self, profile: &Profile) -> &'static str {
        match self {
            Basis::Modelled if profile.not_followed().receives > 0 => Basis::Estimated.word(&profile.backend),
            _ => self.word(&profile.backend),
        }
    }
}

/// How the numbers of several rows become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fold {
    /// Their sum.
    Sum,
    /// The least.
    Min,
    /// The greatest.
    Max,
    /// They do not, as means.
    None,
}

/// A number that each row of a kind has: a rank, a connection, a call site.
#[derive(Debug)]
pub struct Quantity<R: 'static> {
    /// What it is a number of: a queue, its searches, connections.
    pub group: &'static str,
    /// Its name within the group; one word in CSV.
    pub name: &'static str,
    /// Its key in `profile.json`, from the row on; empty where it is derived.
    pub key: &'static str,
    /// How it is written.
    pub unit: Unit,
    /// How it is known.
    pub basis: Basis,
    /// How the numbers of several rows become one.
    pub fold: Fold,
    /// What it is.
    pub sentence: &'static str,
    /// The number of a row; none where there is none, as the mean of nothing.
    pub of: fn(&R) -> Option<f64>,
    /// The head of its column, if the text has one.
    pub head: Option<&'static str>,
    /// The quantity of the group that it is a part of: text has both, as `3 of 20`.
    pub whole: Option<&'static str>,
    /// What its line for each rank calls it, if it is there: `mel report --lines`.
    pub line: Option<&'static str>,
    /// Of ranks: whether it is in what shows them side by side: the tables across ranks, CSV, the page, `ranks.table`.
    pub over_ranks: bool,
    /// Whether `mel diff` compares it.
    pub diff: bool,
    /// Its name for readers and for people in Cube profiles, if these have it.
    pub cube: Option<[&'static str; 2]>,
}

impl<R> Clone for Quantity<R> {
    fn clone(&self) -> Quantity<R> {
        *self
    }
}

impl<R> Copy for Quantity<R> {}

impl<R> Quantity<R> {
    /// What entries begin with: no row has any.
    pub const NONE: Quantity<R> = Quantity {
        group: "",
        name: "",
        key: "",
        unit: Unit::Count,
        basis: Basis::Observed,
        fold: Fold::Sum,
        sentence: "",
        of: |_| None,
        head: None,
        whole: None,
        line: None,
        over_ranks: false,
        diff: false,
        cube: None,
    };

    /// The number of several rows together; none where no row has any.
    pub fn folded<'a>(&self, rows: impl IntoIterator<Item = &'a R>) -> Option<f64> {
        let of_two: fn(f64, f64) -> f64 = match self.fold {
            Fold::Sum => |a, b| a + b,
            Fold::Min => f64::min,
            Fold::Max => f64::max,
            Fold::None => return None,
        };
        rows.into_iter().filter_map(self.of).reduce(of_two)
    }
}

/// A name as one word, for scripts.
pub fn word_of(name: &str) -> String {
    name.replace([' ', '-'], "_")
}

/// The quantities of a row that it has, with their numbers.
pub fn numbers<R>(
    catalogue: &'static [Quantity<R>],
    row: &R,
) -> impl Iterator<Item = (&'static Quantity<R>, f64)> {
    catalogue.iter().filter_map(move |quantity| Some((quantity, (quantity.of)(row)?)))
}

/// The heads of those that have a column in the text.
pub fn heads<R>(catalogue: &'static [Quantity<R>]) -> impl Iterator<Item = &'static str> {
    catalogue.iter().filter_map(|quantity| quantity.head)
}

/// The cells under [`heads`], of several rows together, or of one.
pub fn cells<R>(catalogue: &'static [Quantity<R>], rows: &[&R]) -> impl Iterator<Item = String> {
    let text = move |quantity: &Quantity<R>| {
        let value = match rows {
            [row] => (quantity.of)(row),
            rows => quantity.folded(rows.iter().copied()),
        };
        value.map_or_else(|| "-".into(), |value| quantity.unit.text(value))
    };
    let shown = catalogue.iter().filter(|quantity| quantity.head.is_some());
    shown.map(move |quantity| {
        let whole = catalogue.iter().find(|other| Some(other.name) == quantity.whole);
        whole.map_or_else(|| text(quantity), |whole| format!("{} of {}", text(quantity), text(whole)))
    })
}

/// Those that have a place in the line of a rank, as its end: ` Num Messages: 3 Max length of message queue: 2`. What a rank does not have is 0.
pub fn line<R>(catalogue: &[Quantity<R>], row: &R) -> String {
    let number = |quantity: &Quantity<R>, name: &str| {
        let value = (quantity.of)(row).unwrap_or(0.0);
        match quantity.unit {
            Unit::Seconds => format!(" {name}: {} s", general(value)),
            _ => format!(" {name}: {value:.0}"),
        }
    };
    catalogue.iter().filter_map(|quantity| Some(number(quantity, quantity.line?))).collect()
}

/// The rows of a table of `docs/profile.md`: keys, types and sentences of those that have a key.
pub fn documentation<R>(catalogue: &[Quantity<R>]) -> String {
    let row = |quantity: &Quantity<R>| {
        let key = quantity.key.rsplit('.').next().unwrap_or_default();
        let kind = if key.ends_with("_s") || quantity.unit == Unit::Share { "number" } else { "integer" };
        let basis = quantity.basis.word("");
        format!("| `{key}` | {kind} | {} | {basis} |\n", quantity.sentence)
    };
    let rows: String = catalogue.iter().filter(|quantity| !quantity.key.is_empty()).map(row).collect();
    format!("| key | type | | basis |\n|---|---|---|---|\n{rows}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_in_which_receives_stand_for_others_are_estimated() {
        use crate::profile::{NotFollowed, RankProfile};
        let mut profile = Profile { backend: "model".into(), ..Profile::default() };
        profile.ranks = vec![RankProfile::default()];
        let words =
            |profile: &Profile| [Basis::Observed, Basis::Modelled].map(|basis| basis.word_in(profile));
        assert_eq!(words(&profile), ["observed", "modelled"]);
        profile.ranks[0].not_followed = NotFollowed { receives: 7, ..NotFollowed::default() };
        assert_eq!(words(&profile), ["observed", "estimated"]);
        profile = Profile { backend: "peruse".into(), ..Profile::default() };
        assert_eq!(words(&profile), ["observed", "observed"]);
    }

    /// Each table of `docs/profile.md` that is made of the catalogue.
    fn tables() -> [(&'static str, String); 13] {
        [
            ("budget", documentation(budget::BUDGET)),
            ("efficiency", documentation(run::EFFICIENCY)),
            ("processors", documentation(budget::PROCESSORS)),
            ("resources", documentation(budget::RESOURCES)),
            ("counters", documentation(counters::COUNTERS)),
            ("queue", documentation(queues::POSTED)),
            ("searches", documentation(queues::POSTED_SEARCHES)),
            ("communicators", documentation(communicators::COMMUNICATORS)),
            ("calls", documentation(calls::CALLS)),
            ("receives", documentation(calls::RECEIVES)),
            ("waits", documentation(calls::WAITS)),
            ("connections", documentation(connections::CONNECTIONS)),
            ("ports", documentation(connections::PORTS)),
        ]
    }

    #[test]
    fn the_documentation_has_the_catalogue() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/profile.md");
        let mut text = std::fs::read_to_string(path).unwrap();
        for (name, table) in tables() {
            let begin = format!("<!-- made of crates/mel-log/src/profile/quantities: {name} -->\n");
            let (before, rest) = text.split_once(&begin).unwrap_or_else(|| panic!("where is {begin}"));
            let (there, after) = rest.split_once("<!-- end -->\n").expect("it says where the table ends");
            if std::env::var_os("MEL_WRITE_DOCS").is_none() {
                assert!(
                    there == table,
                    "MEL_WRITE_DOCS=1 cargo test -p mel-log the_documentation writes it anew"
                );
            }
            text = format!("{before}{begin}{table}<!-- end -->\n{after}");
        }
        if std::env::var_os("MEL_WRITE_DOCS").is_some() {
            std::fs::write(path, text).unwrap();
        }
    }

    #[test]
    fn numbers_of_several_rows_become_one() {
        let fold = |fold, values: &[f64]| {
            let quantity =
                Quantity::<f64> { of: |value| (*value >= 0.0).then_some(*value), fold, ..Quantity::NONE };
            quantity.folded(values)
        };
        assert_eq!(fold(Fold::Sum, &[1.0, -1.0, 3.0]), Some(4.0));
        assert_eq!(fold(Fold::Min, &[2.0, -1.0, 3.0]), Some(2.0));
        assert_eq!(fold(Fold::Max, &[2.0, -1.0, 3.0]), Some(3.0));
        assert_eq!((fold(Fold::None, &[2.0]), fold(Fold::Max, &[-1.0])), (None, None));
    }

    #[test]
    fn text_has_a_part_beside_its_whole_and_a_dash_for_what_is_not_known() {
        const CATALOGUE: &[Quantity<(u64, Option<f64>)>] = &[
            Quantity { name: "sent", of: |row| Some(row.0 as f64), ..Quantity::NONE },
            Quantity { of: |_| Some(3.0), head: Some("again"), whole: Some("sent"), ..Quantity::NONE },
            Quantity { of: |row| row.1, unit: Unit::Seconds, head: Some("last"), ..Quantity::NONE },
        ];
        assert_eq!(heads(CATALOGUE).collect::<Vec<_>>(), ["again", "last"]);
        assert_eq!(cells(CATALOGUE, &[&(20, None), &(10, None)]).collect::<Vec<_>>(), ["6 of 30", "-"]);
        assert_eq!(cells(CATALOGUE, &[&(20, Some(0.5))]).nth(1).unwrap(), "500 ms");
    }
}
