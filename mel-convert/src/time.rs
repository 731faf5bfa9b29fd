//! One time for all ranks: nanoseconds since the first record of the run.

use std::collections::BTreeMap;

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

impl Timeline {
    /// By the readings of the reference clock if all ranks have some, else by the wall clocks. The
    /// ranks of one host have one clock: they share one line, so that neither their measured rates nor
    /// their readings of the wall clock tear them apart.
    pub fn new(logs: &[RankLog]) -> Timeline {
        let readings: Vec<_> = logs.iter().map(|log| (&*log.definitions.clock_readings, &log.info)).collect();
        let infos: Vec<&HeaderInfo> = logs.iter().map(|log| &log.info).collect();
        let lines = by_readings(&readings).unwrap_or_else(|| by_wall_clocks(&infos));
        let first_of = |log: &RankLog| {
            let records =
                log.streams().into_iter().filter_map(|stream| Some(log.records(stream).next()?.time));
            records.chain([log.info.origin_ticks]).min().unwrap_or(0)
        };
        let firsts: Vec<u64> = logs.iter().map(first_of).collect();
        let start = firsts.iter().zip(&lines).map(|(first, line)| line.at(*first)).min().unwrap_or(0);
        let start_unix_nanos = infos.iter().zip(&lines).next().map_or(0, |(info, line)| {
            i128::from(info.origin_realtime_nanos) - line.at(info.origin_ticks) + start
        });
        Timeline { lines, firsts, start, start_unix_nanos: u64::try_from(start_unix_nanos).unwrap_or(0) }
    }

    /// The same with the times of each node's own clock, and for each log what is to be added to these to get one time: at
    /// the begin and the end of the log. As the clocks differ by a straight line, that is as good as at the instants of the
    /// comparisons, and readers need not look beyond. Where there is only one clock, nothing changes and nothing is to be
    /// added.
    pub(crate) fn uncorrected(mut self, logs: &[RankLog]) -> (Timeline, Vec<Vec<Offset>>) {
        let readings: Option<Vec<(u64, i64)>> =
            logs.iter().map(|log| log.definitions.clock_readings.first().copied()).collect();
        let (Some(readings), Some(first)) = (readings, logs.first()) else {
            return (self, vec![Vec::new(); logs.len()]);
        };
        // The wall clocks of all nodes, so that those of the first one are right where the run begins.
        let wall = |info: &HeaderInfo| Line::of_header(info);
        let shift = self.lines[0].at(first.info.origin_ticks) - wall(&first.info).at(first.info.origin_ticks);
        let mut nodes = BTreeMap::new();
        let mut own = Vec::new();
        for ((log, reading), line) in logs.iter().zip(&readings).zip(&self.lines) {
            own.push(*nodes.entry(*reading).or_insert_with(|| {
                let mut own = wall(&log.info);
                own.nanos += shift;
                let apart = line.at(reading.0) - own.at(reading.0);
                // Clocks that nobody sets: only how they drift apart is given.
                if apart.abs() > FAR_APART_NANOS {
                    own.nanos += apart;
                }
                own
            }));
        }
        let start = self.firsts.iter().zip(&own).map(|(first, line)| line.at(*first)).min().unwrap_or(0);
        let earlier = (self.start - start).max(0);
        self.start -= earlier;
        self.start_unix_nanos = self.start_unix_nanos.saturating_sub(earlier as u64);
        let corrected = std::mem::replace(&mut self.lines, own);
        let offsets = logs.iter().enumerate().map(|(position, log)| {
            let last = log.definitions.clock_readings.last().map_or(0, |reading| reading.0);
            let last = last.max(log.end_ticks.unwrap_or(0));
            let at = |ticks: u64| Offset {
                time: self.nanos(position, ticks),
                nanos: (corrected[position].at(ticks) - self.lines[position].at(ticks)) as i64,
                error: log.definitions.clock_error_nanos,
            };
            vec![at(self.firsts[position]), at(last)]
        });
        let offsets = offsets.collect();
        (self, offsets)
    }

    /// The time of a tick of the clock of the log at that position. A tick before the start, which
    /// only a damaged log has, counts as the start.
    pub fn nanos(&self, position: usize, ticks: u64) -> u64 {
        let nanos = self.lines.get(position).map_or(0, |line| line.at(ticks) - self.start);
        // Beyond the other end: a tick that no real clock has.
        u64::try_from(nanos.max(0)).unwrap_or(u64::MAX / 2)
    }
}

/// The ranks of a host have the same first reading. One that has ended early has no other, and so no rate as good
/// as that of the others: they share the line of the one with the most readings.
fn by_readings(ranks: &[(&[(u64, i64)], &HeaderInfo)]) -> Option<Vec<Line>> {
    let mut best: BTreeMap<(u64, i64), (usize, Line)> = BTreeMap::new();
    for (readings, info) in ranks {
        let line = Line::of_readings(readings, info)?;
        let known = best.entry(*readings.first()?).or_insert((readings.len(), line));
        if readings.len() > known.0 {
            *known = (readings.len(), line);
        }
    }
    ranks.iter().map(|(readings, _)| Some(best.get(readings.first()?)?.1)).collect()
}

fn by_wall_clocks(infos: &[&HeaderInfo]) -> Vec<Line> {
    let mut hosts: BTreeMap<&str, Line> = BTreeMap::new();
    let mut lines = Vec::new();
    for info in infos {
        let own = Line::of_header(info);
        let shared = *hosts.entry(&info.host).or_insert(own);
        let apart = shared.at(info.origin_ticks) - i128::from(info.origin_realtime_nanos);
        lines.push(if apart.abs() <= SAME_HOST_NANOS { shared } else { own });
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let lines = by_wall_clocks(&[&first, &second, &other]);
        assert_eq!(lines[0], lines[1]);
        assert_eq!(lines[1].at(3_000), 501_000);
        assert_eq!(lines[2].at(79), 500_102);
    }

    #[test]
    fn hosts_of_one_name_are_told_apart_by_their_wall_clocks() {
        let first = info(0, "localhost", 1_000_000_000, 1_000, 0);
        let second = info(1, "localhost", 1_000_000_000, 9_000_000_000_000, 5_000);
        let lines = by_wall_clocks(&[&first, &second]);
        assert_eq!(lines[1].at(9_000_000_000_001), 5_001);
    }

    #[test]
    fn ranks_with_the_same_reading_share_the_best_line() {
        let own = info(0, "a", 1_000_000_000, 0, 0);
        // Its rate is measured wrong, and it was killed before the second reading.
        let wrong = info(1, "a", 1_001_000_000, 0, 0);
        let (killed, finished, other) = ([(100, 0)], [(100, 0), (1_100, 1_000)], [(5, 70)]);
        let lines = by_readings(&[(&killed, &wrong), (&finished, &own), (&other, &own)]).unwrap();
        assert_eq!(lines[0], lines[1]);
        assert_eq!((lines[0].at(2_100), lines[2].at(6)), (2_000, 71));
        assert_eq!(by_readings(&[(&finished, &own), (&[], &own)]), None);
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
        let (own, offsets) = Timeline::new(&logs).uncorrected(&logs);
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
