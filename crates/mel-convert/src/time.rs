//! One time for all ranks: nanoseconds since the first record of the run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use mel_log::{HeaderInfo, RankLog};

/// How far the wall clocks of two ranks may be apart if they are on one host, in nanoseconds. More
/// means that two hosts have the same name.
const SAME_HOST_NANOS: i128 = 10_000_000;

/// Wall clocks that are further apart than that, in nanoseconds, are not kept on one time by anybody.
const FAR_APART_NANOS: i128 = 1_000_000_000;

/// What is to be added to a time of a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Offset {
    /// The time, in nanoseconds since the start.
    pub(crate) time: u64,
    /// What is to be added, in nanoseconds.
    pub(crate) nanos: i64,
    /// How far that may be from the truth, in nanoseconds.
    pub(crate) error: u64,
}

impl Offset {
    /// A time as readers have it who add what is between two offsets.
    pub(crate) fn correct(offsets: &[Offset], time: u64) -> u64 {
        let [first, .., last] = offsets else { return time };
        let (run, rise) = (last.time.saturating_sub(first.time).max(1), last.nanos - first.nanos);
        let passed = i128::from(time) - i128::from(first.time);
        let nanos = i128::from(first.nanos) + i128::from(rise) * passed / i128::from(run);
        u64::try_from(i128::from(time) + nanos).unwrap_or(0)
    }
}

/// The clocks of all ranks.
#[derive(Debug)]
pub struct Timeline {
    lines: Vec<Line>,
    /// The first tick of each log.
    firsts: Vec<u64>,
    start: i128,
    /// The wall clock at time zero, in nanoseconds since 1970-01-01 UTC.
    pub(crate) start_unix_nanos: u64,
}

/// A clock as a straight line through one of its readings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Line {
    ticks: u64,
    nanos: i128,
    /// Nanoseconds per tick, times two to the power of [`SHIFT`]: a division per record would be the
    /// most expensive part of converting it.
    slope: i128,
}

/// Fraction bits of a slope: over a year the rounding adds up to less than a nanosecond.
const SHIFT: u32 = 60;

impl Line {
    fn new(ticks: u64, nanos: i128, rise: u64, run: u64) -> Line {
        let (rise, run) = (i128::from(rise), i128::from(run.max(1)));
        Line { ticks, nanos, slope: ((rise << SHIFT) + run / 2) / run }
    }

    fn at(&self, ticks: u64) -> i128 {
        let ticks = i128::from(ticks) - i128::from(self.ticks);
        // What does not fit is no time of a real clock, only of a damaged log.
        let nanos = ticks.saturating_mul(self.slope).saturating_add(1 << (SHIFT - 1)) >> SHIFT;
        self.nanos + nanos
    }

    /// By the clock's own rate, through the wall clock at the start of the run.
    fn of_header(info: &HeaderInfo) -> Line {
        let nanos = info.origin_realtime_nanos.into();
        Line::new(info.origin_ticks, nanos, 1_000_000_000, info.ticks_per_second)
    }

    /// Through the first and the last reading beside the reference clock.
    fn of_readings(readings: &[(u64, i64)], info: &HeaderInfo) -> Option<Line> {
        let (first, last) = (readings.first()?, readings.last()?);
        let nanos = first.1.into();
        if last.0 > first.0 && last.1 > first.1 {
            return Some(Line::new(first.0, nanos, last.1.abs_diff(first.1), last.0 - first.0));
        }
        Some(Line::new(first.0, nanos, 1_000_000_000, info.ticks_per_second))
    }
}

/// What the clocks of some ranks say, which others need to have one time with them. Those of several processes are merged
/// in the order of their ranks; how much that is depends on the number of hosts, not of ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Clocks {
    /// By host: the clock of the first rank there, by its wall clock.
    hosts: BTreeMap<String, Line>,
    /// By the first reading of the reference clock, which the ranks of a host have in common.
    nodes: BTreeMap<(u64, i64), Node>,
    /// Whether there is a rank without a reading.
    is_incomplete: bool,
    first: Option<First>,
}

/// The clock of the ranks that have the same first reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Node {
    /// One that has ended early has no other reading, and so no rate as good as that of the others: they share the line of
    /// the one with the most readings, which has so many.
    readings: usize,
    line: Line,
    /// By the wall clock of the first of them.
    wall: Line,
}

/// The first rank that has a log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct First {
    host: String,
    reading: Option<(u64, i64)>,
    origin_ticks: u64,
    origin_realtime_nanos: u64,
    wall: Line,
}

/// The earliest first records of some ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Start {
    /// By the corrected clocks; none without a log.
    corrected: Option<i128>,
    /// By each node's own clock.
    own: Option<i128>,
}

impl Start {
    /// The earliest of these and others.
    pub(crate) fn merge(&mut self, other: Start) {
        let earlier = |one: Option<i128>, other| one.into_iter().chain(other).min();
        self.corrected = earlier(self.corrected, other.corrected);
        self.own = earlier(self.own, other.own);
    }
}

type Readings = [(u64, i64)];

/// The first tick of a log.
fn first_of(log: &RankLog) -> u64 {
    let records = log.streams().into_iter().filter_map(|stream| Some(log.records(stream).next()?.time));
    records.chain([log.info.origin_ticks]).min().unwrap_or(0)
}

impl Clocks {
    /// Those of these logs.
    pub(crate) fn of(logs: &[RankLog]) -> Clocks {
        let ranks = logs.iter().map(|log| (&*log.definitions.clock_readings, &log.info));
        Clocks::of_ranks(ranks)
    }

    fn of_ranks<'a>(ranks: impl IntoIterator<Item = (&'a Readings, &'a HeaderInfo)>) -> Clocks {
        let mut all = Clocks::default();
        for (readings, info) in ranks {
            let wall = Line::of_header(info);
            let reading = readings.first().copied();
            let mut clocks = Clocks {
                hosts: BTreeMap::from([(info.host.clone(), wall)]),
                is_incomplete: reading.is_none(),
                ..Clocks::default()
            };
            if let (Some(reading), Some(line)) = (reading, Line::of_readings(readings, info)) {
                clocks.nodes.insert(reading, Node { readings: readings.len(), line, wall });
            }
            let HeaderInfo { origin_ticks, origin_realtime_nanos, .. } = *info;
            let host = info.host.clone();
            clocks.first = Some(First { host, reading, origin_ticks, origin_realtime_nanos, wall });
            all.merge(clocks);
        }
        all
    }

    /// Adds those of later ranks.
    pub(crate) fn merge(&mut self, later: Clocks) {
        for (host, line) in later.hosts {
            self.hosts.entry(host).or_insert(line);
        }
        for (reading, node) in later.nodes {
            let known = self.nodes.entry(reading).or_insert(node);
            if node.readings > known.readings {
                (known.readings, known.line) = (node.readings, node.line);
            }
        }
        self.is_incomplete |= later.is_incomplete;
        self.first = self.first.take().or(later.first);
    }

    /// The clock of a rank: by the readings of the reference clock if all ranks have some, else by the wall clocks. The
    /// ranks of one host have one clock: they share one line, so that neither their measured rates nor
    /// their readings of the wall clock tear them apart.
    fn line(&self, host: &str, reading: Option<(u64, i64)>, wall: Line) -> Line {
        let node = reading.and_then(|reading| self.nodes.get(&reading));
        if let Some(node) = node.filter(|_| !self.is_incomplete) {
            return node.line;
        }
        let shared = self.hosts.get(host).copied().unwrap_or(wall);
        let apart = shared.at(wall.ticks) - wall.nanos;
        if apart.abs() <= SAME_HOST_NANOS { shared } else { wall }
    }

    fn line_of(&self, log: &RankLog) -> Line {
        let reading = log.definitions.clock_readings.first().copied();
        self.line(&log.info.host, reading, Line::of_header(&log.info))
    }

    /// The clock of a node as it goes by itself, from its wall clock on; none where clocks have not been compared.
    fn own_line_of(&self, log: &RankLog) -> Option<Line> {
        let first = self.first.as_ref().filter(|_| !self.is_incomplete)?;
        let reading = log.definitions.clock_readings.first()?;
        let node = self.nodes.get(reading)?;
        // The wall clocks of all nodes, so that those of the first one are right where the run begins.
        let line = self.line(&first.host, first.reading, first.wall);
        let shift = line.at(first.origin_ticks) - first.wall.at(first.origin_ticks);
        let mut own = node.wall;
        own.nanos += shift;
        let apart = node.line.at(reading.0) - own.at(reading.0);
        // Clocks that nobody sets: only how they drift apart is given.
        if apart.abs() > FAR_APART_NANOS {
            own.nanos += apart;
        }
        Some(own)
    }

    /// When these logs begin, by the clocks of all.
    pub(crate) fn start(&self, logs: &[RankLog]) -> Start {
        let mut start = Start { corrected: None, own: None };
        for log in logs {
            let first = first_of(log);
            let corrected = Some(self.line_of(log).at(first));
            start.merge(Start { corrected, own: self.own_line_of(log).map(|line| line.at(first)) });
        }
        start
    }
}

impl Timeline {
    /// That of these logs alone.
    pub fn new(logs: &[RankLog]) -> Timeline {
        let clocks = Clocks::of(logs);
        Timeline::of(&clocks, clocks.start(logs), logs)
    }

    /// That of these logs, which are some of those of a run.
    fn of(clocks: &Clocks, start: Start, logs: &[RankLog]) -> Timeline {
        let lines = logs.iter().map(|log| clocks.line_of(log)).collect();
        let firsts = logs.iter().map(first_of).collect();
        let start = start.corrected.unwrap_or(0);
        let start_unix_nanos = clocks.first.as_ref().map_or(0, |first| {
            let line = clocks.line(&first.host, first.reading, first.wall);
            i128::from(first.origin_realtime_nanos) - line.at(first.origin_ticks) + start
        });
        Timeline { lines, firsts, start, start_unix_nanos: u64::try_from(start_unix_nanos).unwrap_or(0) }
    }

    /// The same with the times of each node's own clock, and for each log what is to be added to these to get one time: at
    /// the begin and the end of the log. As the clocks differ by a straight line, that is as good as at the instants of the
    /// comparisons, and readers need not look beyond. Where there is only one clock, nothing changes and nothing is to be
    /// added.
    pub(crate) fn uncorrected(
        clocks: &Clocks,
        start: Start,
        logs: &[RankLog],
    ) -> (Timeline, Vec<Vec<Offset>>) {
        let mut timeline = Timeline::of(clocks, start, logs);
        let own: Option<Vec<Line>> = logs.iter().map(|log| clocks.own_line_of(log)).collect();
        let (Some(own), Some(start)) = (own, start.own) else {
            return (timeline, vec![Vec::new(); logs.len()]);
        };
        let earlier = (timeline.start - start).max(0);
        timeline.start -= earlier;
        timeline.start_unix_nanos = timeline.start_unix_nanos.saturating_sub(earlier as u64);
        let corrected = std::mem::replace(&mut timeline.lines, own);
        let offsets = logs.iter().enumerate().map(|(position, log)| {
            let last = log.definitions.clock_readings.last().map_or(0, |reading| reading.0);
            let last = last.max(log.end_ticks.unwrap_or(0));
            let at = |ticks: u64| Offset {
                time: timeline.nanos(position, ticks),
                nanos: (corrected[position].at(ticks) - timeline.lines[position].at(ticks)) as i64,
                error: log.definitions.clock_error_nanos,
            };
            vec![at(timeline.firsts[position]), at(last)]
        });
        let offsets = offsets.collect();
        (timeline, offsets)
    }

    /// The time of a tick of the clock of the log at that position. A tick before the start, which
    /// only a damaged log has, counts as the start.
    pub fn nanos(&self, position: usize, ticks: u64) -> u64 {
        let nanos = self.lines.get(position).map_or(0, |line| line.at(ticks) - self.start);
        // Beyond the other end: a tick that no real clock has.
        u64::try_from(nanos.max(0)).unwrap_or(u64::MAX / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(ranks: &[(&Readings, &HeaderInfo)]) -> Vec<Line> {
        let clocks = Clocks::of_ranks(ranks.iter().copied());
        // Merged from two halves it is the same.
        let (head, tail) = ranks.split_at(ranks.len() / 2);
        let mut halves = Clocks::of_ranks(head.iter().copied());
        halves.merge(Clocks::of_ranks(tail.iter().copied()));
        assert_eq!(clocks, halves);
        let line = |(readings, info): &(&Readings, &HeaderInfo)| {
            clocks.line(&info.host, readings.first().copied(), Line::of_header(info))
        };
        ranks.iter().map(line).collect()
    }

    fn info(rank: u32, host: &str, rate: u64, origin: u64, realtime: u64) -> HeaderInfo {
        HeaderInfo {
            rank,
            world_size: 2,
            pid: 1,
            ticks_per_second: rate,
            origin_ticks: origin,
            origin_realtime_nanos: realtime,
            host: host.into(),
        }
    }

    #[test]
    fn ranks_of_a_host_share_one_line() {
        let first = info(0, "a", 2_000_000_000, 1_000, 500_000);
        // The same clock, measured a little wrong, its wall clock read a little late.
        let second = info(1, "a", 2_000_010_000, 3_000, 501_700);
        let other = info(2, "b", 1_000_000_000, 77, 500_100);
        let lines = lines(&[(&[], &first), (&[], &second), (&[], &other)]);
        assert_eq!(lines[0], lines[1]);
        assert_eq!(lines[1].at(3_000), 501_000);
        assert_eq!(lines[2].at(79), 500_102);
    }

    #[test]
    fn hosts_of_one_name_are_told_apart_by_their_wall_clocks() {
        let first = info(0, "localhost", 1_000_000_000, 1_000, 0);
        let second = info(1, "localhost", 1_000_000_000, 9_000_000_000_000, 5_000);
        let lines = lines(&[(&[], &first), (&[], &second)]);
        assert_eq!(lines[1].at(9_000_000_000_001), 5_001);
    }

    #[test]
    fn ranks_with_the_same_reading_share_the_best_line() {
        let own = info(0, "a", 1_000_000_000, 0, 0);
        // Its rate is measured wrong, and it was killed before the second reading.
        let wrong = info(1, "a", 1_001_000_000, 0, 0);
        let (killed, finished, other) = ([(100, 0)], [(100, 0), (1_100, 1_000)], [(5, 70)]);
        let all = lines(&[(&killed, &wrong), (&finished, &own), (&other, &own)]);
        assert_eq!(all[0], all[1]);
        assert_eq!((all[0].at(2_100), all[2].at(6)), (2_000, 71));
        // Where one has none, all go by the wall clocks.
        assert_eq!(lines(&[(&finished, &own), (&[], &own)]), [Line::of_header(&own); 2]);
    }

    #[test]
    fn readings_give_offset_and_drift() {
        let own = info(0, "a", 1_000_000_000, 0, 0);
        let line = Line::of_readings(&[(100, -50), (1_100, 1_950)], &own).unwrap();
        assert_eq!((line.at(100), line.at(600), line.at(1_100)), (-50, 950, 1_950));
        let line = Line::of_readings(&[(100, -50)], &own).unwrap();
        assert_eq!(line.at(200), 50);
        assert_eq!(Line::of_readings(&[], &own), None);
        // However long it runs, it stays exact.
        let line = Line::of_header(&info(0, "a", 2_100_000_000, 0, 0));
        assert_eq!(line.at(2_100_000_000 * 86_400 * 30), 1_000_000_000 * 86_400 * 30);
        assert!(line.at(u64::MAX) > 0);
        // Readings that go back are no line: the clock's own rate is taken.
        let line = Line::of_readings(&[(100, 0), (50, 10)], &own).unwrap();
        assert_eq!(line.at(101), 1);
    }

    #[test]
    fn readers_correct_the_times_of_each_node_as_we_do() {
        let directory = tempfile::tempdir().unwrap();
        // The second node's clock is 70 microseconds ahead, and runs a little fast.
        let nodes = [
            (info(0, "a", 1_000_000_000, 1_000, 9_000_000_000), [(2_000, 500), (1_002_000, 1_000_500)]),
            (info(1, "b", 1_000_000_000, 5_000, 9_000_070_000), [(6_000, 600), (1_006_050, 1_000_600)]),
        ];
        let logs: Vec<RankLog> = nodes
            .iter()
            .map(|(info, readings)| {
                let path = directory.path().join(info.rank.to_string());
                let log = mel_log::LogFile::create(&path, info).unwrap();
                for (local_ticks, reference_nanos) in *readings {
                    let reading =
                        mel_log::Definition::ClockReading { local_ticks, reference_nanos, error_nanos: 30 };
                    log.define(&reading).unwrap();
                }
                log.finish(mel_log::State::Finalised, readings[1].0 + 10_000);
                RankLog::open(&path).unwrap()
            })
            .collect();
        let corrected = Timeline::new(&logs);
        let begin = corrected.nanos(0, 1_000);
        let clocks = Clocks::of(&logs);
        let (own, offsets) = Timeline::uncorrected(&clocks, clocks.start(&logs), &logs);
        let shift = Offset::correct(&offsets[0], own.nanos(0, 1_000)) - begin;
        for (position, ticks) in
            [(0, 1_000), (0, 900_000), (1, 5_000), (1, 6_000), (1, 500_000), (1, 1_016_050)]
        {
            let time = Offset::correct(&offsets[position], own.nanos(position, ticks));
            let expected = corrected.nanos(position, ticks) + shift;
            assert!(time.abs_diff(expected) <= 1, "{position}, {ticks}: {time}, not {expected}");
        }
        assert!(offsets[1][0].nanos < -60_000 && offsets[1][0].error == 30, "{offsets:?}");
        assert_ne!(offsets[1][0].nanos, offsets[1][1].nanos, "the clock drifts");
    }
}
