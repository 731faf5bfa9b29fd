//! One reading, and what has changed since the one before.

use std::collections::{BTreeMap, HashMap};

use mel_log::profile::{Efficiency, Ended};
use mel_page::view::variables::Variable;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::quantities::QUANTITIES;
use super::reading::{RankReading, Reading, Site, Stage};
use super::variables::{self, Column};

/// The most call sites of a rank in a frame.
pub const MOST_SITES: usize = 10;

/// What is shown at one instant.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Frame {
    /// When it was read: seconds since 1970.
    pub at_unix_s: f64,
    /// Seconds since the reading before; absent in the first frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval_s: Option<f64>,
    /// How far the run is.
    pub stage: Stage,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The MPI library, as it names itself.
    pub mpi: String,
    /// Where the queue events came from.
    pub backend: String,
    /// When the run began: seconds since 1970.
    pub started_unix_s: f64,
    /// Number of ranks of the run.
    pub world_size: u32,
    /// How well the ranks are used so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub efficiency: Option<Efficiency>,
    /// The same of the last interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub efficiency_now: Option<Efficiency>,
    /// What costs most time so far, in a sentence; estimated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finding: Option<String>,
    /// What is waited for, what is missing, in a sentence each.
    pub remarks: Vec<String>,
    /// Each quantity over the ranks, in the order of [`QUANTITIES`].
    #[serde(serialize_with = "by_name")]
    pub over: Vec<Option<Over>>,
    /// The performance variables that are shown: columns behind the quantities.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<Column>,
    /// Their curves.
    #[serde(skip)]
    pub plots: Vec<Variable>,
    /// The ranks, ascending.
    pub ranks: Vec<Row>,
}

/// A quantity over the ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[allow(missing_docs, reason = "each is what its name says")]
pub struct Over {
    pub min: f64,
    pub median: f64,
    pub max: f64,
}

/// A rank in a frame.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Row {
    /// What is known of it. Of its call sites those that took longest in the last interval, then over all.
    #[serde(flatten)]
    pub reading: RankReading,
    /// The last interval.
    #[serde(skip)]
    pub last: Last,
    /// The quantities, in the order of [`QUANTITIES`], and behind them the variables of [`Frame::variables`]. As JSON the former only: the
    /// rank's `variables` have the others.
    #[serde(serialize_with = "by_name")]
    pub values: Vec<Option<f64>>,
    /// For each of the call sites its time in the last interval, as a share of that.
    pub sites_now: Vec<Option<f64>>,
}

/// What a rank did in the last interval; `None` where it did not run, or it is not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[allow(missing_docs, reason = "each is the quantity of that name")]
pub struct Last {
    pub mpi: Option<f64>,
    pub waiting: Option<f64>,
    pub calls_per_s: Option<f64>,
    pub bytes_per_s: Option<f64>,
    pub messages_per_s: Option<f64>,
    pub searches_per_s: Option<f64>,
}

/// Quantities as a JSON object.
fn by_name<T: Serialize, S: Serializer>(values: &[T], serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(values.len()))?;
    for (quantity, value) in QUANTITIES.iter().zip(values) {
        map.serialize_entry(quantity.name, value)?;
    }
    map.end()
}

impl Frame {
    /// What a reading says, after this one.
    pub fn of(reading: &Reading, before: Option<&Reading>) -> Frame {
        let before = before.filter(|before| !before.ranks.is_empty());
        let earlier: BTreeMap<u32, &RankReading> =
            before.iter().flat_map(|before| &before.ranks).map(|rank| (rank.rank, rank)).collect();
        let mut columns = variables::columns(&reading.ranks);
        let row = |rank| {
            let mut row = row(rank, earlier.get(&rank.rank).copied());
            let values = columns.iter().map(|column| column.value(&row.reading));
            row.values.extend(values.collect::<Vec<_>>());
            row
        };
        let ranks: Vec<Row> = reading.ranks.iter().map(row).collect();
        for (place, column) in columns.iter_mut().enumerate() {
            column.over = over(&ranks, QUANTITIES.len() + place);
        }
        Frame {
            at_unix_s: reading.at_unix_s,
            interval_s: before.map(|before| reading.at_unix_s - before.at_unix_s),
            stage: reading.stage,
            command: reading.command.clone(),
            mpi: reading.mpi.clone(),
            backend: reading.backend.clone(),
            started_unix_s: reading.started_unix_s,
            world_size: reading.world_size,
            efficiency: reading.efficiency.clone(),
            efficiency_now: now(&reading.ranks, &earlier),
            finding: reading.finding.clone(),
            remarks: reading.remarks.clone(),
            over: (0..QUANTITIES.len()).map(|place| over(&ranks, place)).collect(),
            variables: columns,
            plots: reading.plots.clone(),
            ranks,
        }
    }

    /// How many ranks ended how, in a few words: `3 running, 1 killed`.
    pub fn ends(&self) -> String {
        let words = [Ended::Running, Ended::Finalised, Ended::Aborted, Ended::Exited, Ended::Killed];
        let count = |ended: Ended| self.ranks.iter().filter(|row| row.reading.ended == ended).count();
        let told = words.into_iter().map(|ended| (count(ended), ended)).filter(|(count, _)| *count > 0);
        told.map(|(count, ended)| format!("{count} {}", word(ended))).collect::<Vec<_>>().join(", ")
    }
}

/// How a rank ended, in a word.
pub fn word(ended: Ended) -> &'static str {
    match ended {
        Ended::Running => "running",
        Ended::Finalised => "ended",
        Ended::Aborted => "aborted",
        Ended::Exited => "exited",
        Ended::Killed => "killed",
    }
}

fn row(rank: &RankReading, before: Option<&RankReading>) -> Row {
    let seconds = before.map_or(0.0, |before| rank.run_s - before.run_s);
    let mut row = Row { reading: rank.clone(), last: last(rank, before, seconds), ..Row::default() };
    if let Some(before) = before {
        variables::since(&mut row.reading.variables, before);
    }
    let now = sites_now(rank, before, seconds);
    let mut sites: Vec<(Option<f64>, Site)> = now.into_iter().zip(rank.sites.iter().cloned()).collect();
    sites.sort_by(|a, b| b.0.unwrap_or(0.0).total_cmp(&a.0.unwrap_or(0.0)));
    sites.truncate(MOST_SITES);
    (row.sites_now, row.reading.sites) = sites.into_iter().unzip();
    row.values = QUANTITIES.iter().map(|quantity| (quantity.of)(&row)).collect();
    row
}

/// What a rank did in so many seconds. Estimates of totals may get smaller; nothing is less than none.
fn last(rank: &RankReading, before: Option<&RankReading>, seconds: f64) -> Last {
    let Some(before) = before.filter(|_| seconds > 0.0) else { return Last::default() };
    let rate = |now: f64, before: f64| ((now - before) / seconds).max(0.0);
    let both = rank.calls.zip(before.calls);
    Last {
        mpi: both.map(|(now, before)| rate(now.mpi_s, before.mpi_s)),
        waiting: both.map(|(now, before)| rate(now.waiting_s, before.waiting_s)),
        calls_per_s: both.map(|(now, before)| rate(now.calls as f64, before.calls as f64)),
        bytes_per_s: both.map(|(now, before)| rate(now.bytes_sent as f64, before.bytes_sent as f64)),
        messages_per_s: rank
            .messages
            .zip(before.messages)
            .map(|(now, before)| rate(now as f64, before as f64)),
        searches_per_s: (rank.queues.zip(before.queues))
            .map(|(now, before)| rate(now.searches as f64, before.searches as f64)),
    }
}

/// How well the ranks were used since the reading before; none where one of them has ended or was not counted, and where several threads of
/// a rank were in MPI at once.
fn now(ranks: &[RankReading], before: &BTreeMap<u32, &RankReading>) -> Option<Efficiency> {
    let of = |rank: &RankReading| {
        let before = before.get(&rank.rank)?;
        let in_mpi = rank.calls?.mpi_s - before.calls?.mpi_s;
        Some((rank.rank, rank.run_s - before.run_s, in_mpi)).filter(|of| of.1 > 0.0)
    };
    let known: Vec<(u32, f64, f64)> = ranks.iter().filter_map(of).collect();
    let has_all = known.len() == ranks.len();
    // What has returned only now was in MPI before, too.
    let is_one_thread = known.iter().all(|(_, seconds, in_mpi)| *in_mpi <= 1.05 * seconds);
    let longest = known.iter().map(|of| of.1).fold(0.0, f64::max);
    let useful = known.into_iter().map(|(rank, seconds, in_mpi)| (rank, (seconds - in_mpi).max(0.0)));
    Efficiency::of(useful, longest).filter(|_| is_one_thread && has_all)
}

/// The time in the calls of each site, as a share of so many seconds.
fn sites_now(rank: &RankReading, before: Option<&RankReading>, seconds: f64) -> Vec<Option<f64>> {
    let Some(before) = before.filter(|_| seconds > 0.0) else { return vec![None; rank.sites.len()] };
    let earlier: HashMap<(&str, Option<&str>), f64> =
        before.sites.iter().map(|site| ((&*site.function, site.site.as_deref()), site.mpi_s)).collect();
    let now = |site: &Site| {
        let before = earlier.get(&(&*site.function, site.site.as_deref())).copied().unwrap_or(0.0);
        Some(((site.mpi_s - before) / seconds).max(0.0))
    };
    rank.sites.iter().map(now).collect()
}

/// A quantity over the ranks that have it.
fn over(ranks: &[Row], place: usize) -> Option<Over> {
    let mut values: Vec<f64> = ranks.iter().filter_map(|row| row.values[place]).collect();
    values.sort_by(f64::total_cmp);
    let (min, max) = (*values.first()?, *values.last()?);
    let middle = values.len() / 2;
    let median =
        if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 };
    Some(Over { min, median, max })
}

#[cfg(test)]
mod tests {
    use super::super::sample::reading;
    use super::*;

    #[test]
    fn shares_of_the_last_interval_are_differences() {
        let (before, now) = (reading(4, 10.0), reading(4, 12.0));
        let first = Frame::of(&before, None);
        assert_eq!((first.interval_s, first.ranks[1].last), (None, Last::default()));
        let frame = Frame::of(&now, Some(&before));
        assert_eq!(frame.interval_s, Some(2.0));
        // Rank r is in MPI r tenths of its time.
        let value = |rank: usize, name: &str| {
            let place = QUANTITIES.iter().position(|quantity| quantity.name == name).unwrap();
            (frame.ranks[rank].values[place], frame.over[place])
        };
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} is not {b}");
        close(value(3, "mpi_now").0.unwrap(), 0.3);
        close(value(3, "mpi").0.unwrap(), 0.3);
        let over = value(0, "mpi_now").1.unwrap();
        close(over.min, 0.0);
        close(over.median, 0.15);
        close(over.max, 0.3);
        close(value(2, "calls_per_s").0.unwrap(), 100.0);
        assert_eq!(value(2, "messages_per_s"), (None, None));
        close(frame.ranks[2].sites_now[0].unwrap(), 0.2);
        let efficiency = frame.efficiency_now.unwrap();
        close(efficiency.parallel_efficiency, 0.85);
        close(efficiency.load_balance, 0.85);
        assert_eq!((first.efficiency_now, efficiency.busiest_rank), (None, 0));
    }

    #[test]
    fn a_rank_that_does_not_run_has_no_last_interval() {
        let (mut before, mut now) = (reading(2, 10.0), reading(2, 10.0));
        before.at_unix_s -= 1.0;
        now.ranks[0].ended = Ended::Killed;
        let frame = Frame::of(&now, Some(&before));
        assert_eq!(frame.ranks[0].last, Last::default());
        assert_eq!(frame.ends(), "1 running, 1 killed");
    }

    #[test]
    fn an_estimate_that_has_become_smaller_is_no_negative_rate() {
        let (mut before, now) = (reading(2, 10.0), reading(2, 11.0));
        before.ranks[1].calls.as_mut().unwrap().waiting_s = 9.0;
        assert_eq!(Frame::of(&now, Some(&before)).ranks[1].last.waiting, Some(0.0));
    }
}
