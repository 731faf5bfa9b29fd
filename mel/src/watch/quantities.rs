//! The numbers of a rank that are shown: each has a name, a unit, and is observed, modelled or estimated.

use mel_log::number::size;
use serde::Serialize;

use super::frame::Row;

/// In what a quantity is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// A share, 1 for all.
    Share,
    /// A number of things.
    Count,
    /// Things per second.
    PerSecond,
    /// Bytes per second.
    BytesPerSecond,
}

/// How a quantity is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// Counted and timed at the calls.
    Observed,
    /// Computed from when calls began and ended.
    Estimated,
    /// Of the queues: of the model, or observed where the MPI itself reports them.
    OfQueues,
}

impl Basis {
    /// In a word, where the queue events came from this backend.
    pub fn word(self, backend: &str) -> &'static str {
        match self {
            Basis::Observed => "observed",
            Basis::Estimated => "estimated",
            Basis::OfQueues if backend == "peruse" => "observed",
            Basis::OfQueues => "modelled",
        }
    }
}

/// One number of each rank.
#[derive(Clone, Copy, Debug)]
pub struct Quantity {
    /// Its name in JSON.
    pub name: &'static str,
    /// Its name at the head of a column.
    pub head: &'static str,
    /// What it is.
    pub meaning: &'static str,
    /// In what.
    pub unit: Unit,
    /// How it is known.
    pub basis: Basis,
    /// Its value; `None` where it is not known.
    pub of: fn(&Row) -> Option<f64>,
}

/// All quantities, in the order of their columns.
pub const QUANTITIES: [Quantity; 14] = [
    Quantity {
        name: "mpi_now",
        head: "MPI now",
        meaning: "share of the last interval in MPI",
        unit: Unit::Share,
        basis: Basis::Observed,
        of: |row| row.last.mpi,
    },
    Quantity {
        name: "mpi",
        head: "MPI all",
        meaning: "share of the run so far in MPI",
        unit: Unit::Share,
        basis: Basis::Observed,
        of: |row| share(row.reading.calls?.mpi_s, row.reading.run_s),
    },
    Quantity {
        name: "waiting_now",
        head: "wait now",
        meaning: "share of the last interval lost waiting; a wait counts when it ends, so one that began earlier may be more than all of it",
        unit: Unit::Share,
        basis: Basis::Estimated,
        of: |row| row.last.waiting,
    },
    Quantity {
        name: "waiting",
        head: "wait all",
        meaning: "share of the run so far lost waiting",
        unit: Unit::Share,
        basis: Basis::Estimated,
        of: |row| share(row.reading.calls?.waiting_s, row.reading.run_s),
    },
    Quantity {
        name: "late_sender",
        head: "late send",
        meaning: "share of the run so far lost waiting for messages that were sent late",
        unit: Unit::Share,
        basis: Basis::Estimated,
        of: |row| share(row.reading.calls?.late_sender_s, row.reading.run_s),
    },
    Quantity {
        name: "collective",
        head: "collect.",
        meaning: "share of the run so far lost waiting in collective operations",
        unit: Unit::Share,
        basis: Basis::Estimated,
        of: |row| share(row.reading.calls?.collective_s, row.reading.run_s),
    },
    Quantity {
        name: "posted_length",
        head: "posted",
        meaning: "length of the posted queue, as of the last call that the model has followed",
        unit: Unit::Count,
        basis: Basis::OfQueues,
        of: |row| Some(row.reading.queues?.posted_length as f64),
    },
    Quantity {
        name: "posted_longest",
        head: "max p.",
        meaning: "greatest length of the posted queue so far",
        unit: Unit::Count,
        basis: Basis::OfQueues,
        of: |row| Some(row.reading.queues?.posted_longest as f64),
    },
    Quantity {
        name: "unexpected_length",
        head: "unexp.",
        meaning: "length of the unexpected queue, as of the last call that the model has followed",
        unit: Unit::Count,
        basis: Basis::OfQueues,
        of: |row| Some(row.reading.queues?.unexpected_length as f64),
    },
    Quantity {
        name: "unexpected_longest",
        head: "max u.",
        meaning: "greatest length of the unexpected queue so far",
        unit: Unit::Count,
        basis: Basis::OfQueues,
        of: |row| Some(row.reading.queues?.unexpected_longest as f64),
    },
    Quantity {
        name: "searches_per_s",
        head: "search/s",
        meaning: "searches of both queues per second of the last interval",
        unit: Unit::PerSecond,
        basis: Basis::OfQueues,
        of: |row| row.last.searches_per_s,
    },
    Quantity {
        name: "calls_per_s",
        head: "calls/s",
        meaning: "calls of MPI that returned, per second of the last interval",
        unit: Unit::PerSecond,
        basis: Basis::Observed,
        of: |row| row.last.calls_per_s,
    },
    Quantity {
        name: "bytes_per_s",
        head: "sent/s",
        meaning: "bytes sent per second of the last interval, with the data given to collective operations",
        unit: Unit::BytesPerSecond,
        basis: Basis::Observed,
        of: |row| row.last.bytes_per_s,
    },
    Quantity {
        name: "messages_per_s",
        head: "msgs/s",
        meaning: "messages sent per second of the last interval, without those of collective operations; with --profile matrix",
        unit: Unit::PerSecond,
        basis: Basis::Observed,
        of: |row| row.last.messages_per_s,
    },
];

/// A part of a whole; `None` of nothing.
pub fn share(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

impl Quantity {
    /// A value as text of at most 9 columns.
    pub fn text(&self, value: Option<f64>) -> String {
        let Some(value) = value else { return "-".into() };
        match self.unit {
            Unit::Share => format!("{:.1} %", value * 100.0),
            Unit::Count | Unit::PerSecond => short(value),
            Unit::BytesPerSecond => size(value),
        }
    }
}

/// A number in at most 6 columns: with `k`, `M` or `G` where it is great.
fn short(value: f64) -> String {
    match value.abs() {
        v if v < 9.95 && v != v.round() => format!("{value:.1}"),
        v if v < 99_999.5 => format!("{value:.0}"),
        v if v < 999_500.0 => format!("{:.0} k", value / 1e3),
        v if v < 9.995e6 => format!("{:.2} M", value / 1e6),
        v if v < 9.995e8 => format!("{:.0} M", value / 1e6),
        _ => format!("{:.1} G", value / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_fit_in_their_columns() {
        for (value, text) in [
            (0.0, "0"),
            (1.0, "1"),
            (0.25, "0.2"),
            (12.5, "12"),
            (99_999.0, "99999"),
            (100_000.0, "100 k"),
            (1_234_567.0, "1.23 M"),
            (12_345_678.0, "12 M"),
            (3.2e9, "3.2 G"),
        ] {
            assert_eq!(short(value), text);
            assert!(text.len() <= 6);
        }
    }

    #[test]
    fn names_and_heads_are_told_apart() {
        for (place, one) in QUANTITIES.iter().enumerate() {
            for other in &QUANTITIES[place + 1..] {
                assert!(one.name != other.name && one.head != other.head);
            }
            assert!(one.head.len() <= 9, "{}", one.head);
        }
    }

    #[test]
    fn what_is_not_known_is_no_zero() {
        assert_eq!(QUANTITIES[0].text(None), "-");
        assert_eq!(QUANTITIES[0].text(Some(0.1234)), "12.3 %");
        assert_eq!(share(1.0, 0.0), None);
        assert_eq!(Basis::OfQueues.word("model"), "modelled");
        assert_eq!(Basis::OfQueues.word("peruse"), "observed");
    }
}
