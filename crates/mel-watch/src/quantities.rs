//! The numbers of a rank that are shown: each has a name, a unit, and is observed, modelled or estimated.

use mel_log::number::size;
use mel_log::profile::quantities::{Basis, Fold, Quantity, Unit};

use super::frame::{Frame, Over, Row};
use super::variables::Column;

const OF_ROW: Quantity<Row> = Quantity { group: "watch", fold: Fold::None, ..Quantity::NONE };

/// All quantities, in the order of their columns.
pub const QUANTITIES: [Quantity<Row>; 14] = [
    Quantity {
        name: "mpi_now",
        head: Some("MPI now"),
        sentence: "share of the last interval in MPI",
        unit: Unit::Share,
        basis: Basis::Observed,
        of: |row| row.last.mpi,
        ..OF_ROW
    },
    Quantity {
        name: "mpi",
        head: Some("MPI all"),
        sentence: "share of the run so far in MPI",
        unit: Unit::Share,
        basis: Basis::Observed,
        of: |row| share(row.reading.calls?.mpi_s, row.reading.run_s),
        ..OF_ROW
    },
    Quantity {
        name: "waiting_now",
        head: Some("wait now"),
        sentence: "share of the last interval lost waiting; a wait counts when it ends, so one that began earlier may be more than all of it",
        unit: Unit::Share,
        basis: Basis::Estimated,
        of: |row| row.last.waiting,
        ..OF_ROW
    },
    Quantity {
        name: "waiting",
        head: Some("wait all"),
        sentence: "share of the run so far lost waiting",
        unit: Unit::Share,
        basis: Basis::Estimated,
        of: |row| share(row.reading.calls?.waiting_s, row.reading.run_s),
        ..OF_ROW
    },
    Quantity {
        name: "late_sender",
        head: Some("late send"),
        sentence: "share of the run so far lost waiting for messages that were sent late",
        unit: Unit::Share,
        basis: Basis::Estimated,
        of: |row| share(row.reading.calls?.late_sender_s, row.reading.run_s),
        ..OF_ROW
    },
    Quantity {
        name: "collective",
        head: Some("collect."),
        sentence: "share of the run so far lost waiting in collective operations",
        unit: Unit::Share,
        basis: Basis::Estimated,
        of: |row| share(row.reading.calls?.collective_s, row.reading.run_s),
        ..OF_ROW
    },
    Quantity {
        name: "posted_length",
        head: Some("posted"),
        sentence: "length of the posted queue, as of the last call that the model has followed",
        unit: Unit::Count,
        basis: Basis::Modelled,
        of: |row| Some(row.reading.queues?.posted_length as f64),
        ..OF_ROW
    },
    Quantity {
        name: "posted_longest",
        head: Some("max p."),
        sentence: "greatest length of the posted queue so far",
        unit: Unit::Count,
        basis: Basis::Modelled,
        of: |row| Some(row.reading.queues?.posted_longest as f64),
        ..OF_ROW
    },
    Quantity {
        name: "unexpected_length",
        head: Some("unexp."),
        sentence: "length of the unexpected queue, as of the last call that the model has followed",
        unit: Unit::Count,
        basis: Basis::Modelled,
        of: |row| Some(row.reading.queues?.unexpected_length as f64),
        ..OF_ROW
    },
    Quantity {
        name: "unexpected_longest",
        head: Some("max u."),
        sentence: "greatest length of the unexpected queue so far",
        unit: Unit::Count,
        basis: Basis::Modelled,
        of: |row| Some(row.reading.queues?.unexpected_longest as f64),
        ..OF_ROW
    },
    Quantity {
        name: "searches_per_s",
        head: Some("search/s"),
        sentence: "searches of both queues per second of the last interval",
        unit: Unit::PerSecond,
        basis: Basis::Modelled,
        of: |row| row.last.searches_per_s,
        ..OF_ROW
    },
    Quantity {
        name: "calls_per_s",
        head: Some("calls/s"),
        sentence: "calls of MPI that returned, per second of the last interval",
        unit: Unit::PerSecond,
        basis: Basis::Observed,
        of: |row| row.last.calls_per_s,
        ..OF_ROW
    },
    Quantity {
        name: "bytes_per_s",
        head: Some("sent/s"),
        sentence: "bytes sent per second of the last interval, with the data given to collective operations",
        unit: Unit::BytesPerSecond,
        basis: Basis::Observed,
        of: |row| row.last.bytes_per_s,
        ..OF_ROW
    },
    Quantity {
        name: "messages_per_s",
        head: Some("msgs/s"),
        sentence: "point-to-point messages sent per second in the last interval; with --profile matrix",
        unit: Unit::PerSecond,
        basis: Basis::Observed,
        of: |row| row.last.messages_per_s,
        ..OF_ROW
    },
];

/// A part of a whole; `None` of nothing.
pub fn share(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

/// A column: a quantity, or a variable that is sampled.
#[derive(Clone, Copy, Debug)]
pub enum Shown<'a> {
    /// A quantity.
    Quantity(&'static Quantity<Row>),
    /// A variable.
    Variable(&'a Column),
}

/// How many columns a frame has.
pub fn columns(frame: &Frame) -> usize {
    QUANTITIES.len() + frame.variables.len()
}

/// A column of a frame: first the quantities.
///
/// # Panics
/// If it has fewer [`columns`].
pub fn column(frame: &Frame, place: usize) -> Shown<'_> {
    match QUANTITIES.get(place) {
        Some(quantity) => Shown::Quantity(quantity),
        None => Shown::Variable(&frame.variables[place - QUANTITIES.len()]),
    }
}

impl Shown<'_> {
    /// The head of the column.
    pub fn head(&self) -> String {
        match self {
            Shown::Quantity(quantity) => head(quantity).to_owned(),
            Shown::Variable(column) => column.head(),
        }
    }

    /// A value as text.
    pub fn text(&self, value: Option<f64>) -> String {
        match self {
            Shown::Quantity(quantity) => text(quantity, value),
            Shown::Variable(column) => column.text(value),
        }
    }

    /// What is said of it behind its name: how it is known, or its class.
    pub fn basis(&self, backend: &str) -> String {
        match self {
            Shown::Quantity(quantity) => quantity.basis.word(backend).to_owned(),
            Shown::Variable(column) => column.about.class.clone(),
        }
    }

    /// What it means.
    pub fn sentence(&self, backend: &str) -> String {
        match self {
            Shown::Quantity(quantity) => format!("{} ({})", quantity.sentence, quantity.basis.word(backend)),
            Shown::Variable(column) => column.meaning(),
        }
    }

    /// Over the ranks of its frame, of which this is the place.
    pub fn over(&self, frame: &Frame, place: usize) -> Option<Over> {
        match self {
            Shown::Quantity(_) => frame.over.get(place).copied().flatten(),
            Shown::Variable(column) => column.over,
        }
    }
}

/// The name of a quantity at the head of its column.
pub fn head(of: &Quantity<Row>) -> &'static str {
    of.head.unwrap_or(of.name)
}

/// A value of a quantity as text of at most 9 columns.
pub fn text(of: &Quantity<Row>, value: Option<f64>) -> String {
    match (of.unit, value) {
        (_, None) => "-".into(),
        (Unit::Count | Unit::PerSecond, Some(value)) => short(value),
        (Unit::BytesPerSecond, Some(value)) => size(value),
        (unit, Some(value)) => unit.text(value),
    }
}

/// A number in at most 6 columns: with `k`, `M` or `G` where it is great.
pub fn short(value: f64) -> String {
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
                assert!(one.name != other.name && head(one) != head(other));
            }
            assert!(head(one).len() <= 9, "{}", head(one));
        }
    }

    #[test]
    fn what_is_not_known_is_no_zero() {
        assert_eq!(text(&QUANTITIES[0], None), "-");
        assert_eq!(text(&QUANTITIES[0], Some(0.1234)), "12.3 %");
        assert_eq!(share(1.0, 0.0), None);
        assert_eq!(Basis::Modelled.word("model"), "modelled");
        assert_eq!(Basis::Modelled.word("peruse"), "observed");
    }
}
