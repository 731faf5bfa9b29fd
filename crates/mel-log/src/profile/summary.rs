//! The table across ranks: for each quantity the extremes with their ranks, and the median.

use super::over_ranks::OverRanks;
use super::quantities::Quantity;
use super::quantities::counters::COUNTERS;
use super::quantities::queues;
use super::quantities::windows::WINDOWS;
use super::schema::{Profile, RankProfile};

/// A number that each rank has.
pub type OfRank = Quantity<RankProfile>;

/// All quantities of queues, windows and counters that are shown across ranks, in the order of the table. The first of a group is its
/// count.
pub fn all() -> impl Iterator<Item = &'static OfRank> + Clone {
    quantities_of(true, true, true)
}

/// The quantities that a run has counted: of the queues, of windows where there were any, and of the processor's counters where any rank
/// could read them.
pub fn quantities(profile: &Profile) -> impl Iterator<Item = &'static OfRank> + Clone {
    let any = |of: fn(&RankProfile) -> bool| profile.ranks.iter().any(of);
    let (windows, counters) = (any(|rank| !rank.windows.is_empty()), any(|rank| rank.counters.is_some()));
    quantities_of(profile.has_queues(), windows, counters)
}

/// Those of queues, of windows, and of the processor's counters, if they were counted.
pub fn quantities_of(
    queues: bool,
    windows: bool,
    counters: bool,
) -> impl Iterator<Item = &'static OfRank> + Clone {
    let of_queues = queues::ALL.into_iter().filter(move |_| queues);
    let groups = of_queues.chain(windows.then_some(WINDOWS)).chain(counters.then_some(COUNTERS));
    groups.flatten().filter(|quantity| quantity.over_ranks)
}

/// The longest of each queue and each kind of search.
pub fn longest_of_queues() -> impl Iterator<Item = &'static OfRank> {
    quantities_of(true, false, false).filter(|quantity| quantity.name.starts_with("longest"))
}

/// The spread of a quantity over the ranks that have it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The least value, and the first rank that has it.
    pub min: (f64, u32),
    /// The middle value; the mean of the middle two if their number is even.
    pub median: f64,
    /// The greatest value, and the first rank that has it.
    pub max: (f64, u32),
}

/// The spread of a quantity; none if no rank has it.
pub fn spread(ranks: &[RankProfile], of: impl Fn(&RankProfile) -> Option<f64>) -> Option<Spread> {
    let mut values: Vec<(f64, u32)> = ranks.iter().filter_map(|rank| Some((of(rank)?, rank.rank))).collect();
    values.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let (min, last) = (*values.first()?, *values.last()?);
    let max = *values.iter().find(|value| value.0 == last.0)?;
    let middle = values.len() / 2;
    let median = match values.len() % 2 {
        1 => values[middle].0,
        _ => f64::midpoint(values[middle - 1].0, values[middle].0),
    };
    Some(Spread { min, median, max })
}

/// The same table of what is known over the ranks only, with what most ranks have: groups in their order, but for those given.
pub fn table_over_ranks(all: &[OverRanks], but: &[&str]) -> String {
    let (mut rows, mut group, mut empty) = (Vec::new(), "", false);
    for over in all.iter().filter(|over| !but.contains(&&*over.group)) {
        let (Some(min), Some(max)) = (over.min(), over.max()) else { continue };
        if over.group != group {
            group = &over.group;
            empty = max.1 == 0.0;
            if !empty {
                rows.push(vec![group.to_owned()]);
            }
        }
        if empty {
            continue;
        }
        let text = |number| over.unit.text(number);
        let [low, _, median, _, high] = over.quantiles.map(text);
        let mut row = vec![format!("  {}", over.name)];
        row.extend([text(min.1), min.0.to_string(), low, median, high, text(max.1), max.0.to_string()]);
        rows.push(row);
    }
    if rows.is_empty() {
        return String::new();
    }
    rows.insert(0, ["", "min", "rank", "5 %", "median", "95 %", "max", "rank"].map(str::to_owned).to_vec());
    aligned(&rows)
}

/// The table, at most 80 columns wide: one value per quantity for a run of one rank, else the spread.
pub fn table(ranks: &[RankProfile]) -> String {
    let (mut rows, mut group, mut empty) = (Vec::new(), "", false);
    for quantity in all() {
        let Some(spread) = spread(ranks, quantity.of) else { continue };
        if quantity.group != group {
            group = quantity.group;
            empty = spread.max.0 == 0.0;
            if !empty {
                rows.push(vec![group.to_owned()]);
            }
        }
        if empty {
            continue;
        }
        let text = |number| quantity.unit.text(number);
        let (min, max) = (spread.min, spread.max);
        let mut row = vec![format!("  {}", quantity.name)];
        if ranks.len() == 1 {
            row.push(text(max.0));
        } else {
            row.extend([text(min.0), min.1.to_string(), text(spread.median), text(max.0), max.1.to_string()]);
        }
        rows.push(row);
    }
    if rows.is_empty() {
        return String::new();
    }
    let header = match ranks {
        [alone] => vec![String::new(), format!("rank {}", alone.rank)],
        _ => ["", "min", "rank", "median", "max", "rank"].map(str::to_owned).to_vec(),
    };
    rows.insert(0, header);
    aligned(&rows)
}

/// Rows of cells as lines: the first column to the left, the others to the right, a blank on either side of each.
fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width =
        |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(&widths).enumerate();
        let line: String = cells
            .map(|(column, (cell, &width))| match column {
                0 => format!(" {cell:<width$} "),
                _ => format!(" {cell:>width$} "),
            })
            .collect();
        text += line.trim_end();
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{QueueStats, SearchStats};

    fn rank(rank: u32, messages: u64, max_s: f64) -> RankProfile {
        RankProfile {
            rank,
            posted: QueueStats { messages, max_length: 2, mean_s: 1e-6, max_s, ..QueueStats::default() },
            posted_search: SearchStats { searches: 1, total_s: 7.8e-8, ..SearchStats::default() },
            ..RankProfile::default()
        }
    }

    #[test]
    fn who_has_nothing_counts_as_nothing_but_has_no_lifetimes() {
        let ranks = [rank(0, 3, 0.5), rank(1, 0, 0.0), rank(2, 5, 0.25), rank(3, 5, 0.25)];
        let messages = spread(&ranks, queues::POSTED[0].of).unwrap();
        assert_eq!(messages, Spread { min: (0.0, 1), median: 4.0, max: (5.0, 2) });
        let longest = spread(&ranks[..3], longest_of_queues().next().unwrap().of).unwrap();
        assert_eq!(longest, Spread { min: (0.25, 2), median: 0.375, max: (0.5, 0) });
        assert_eq!(spread(&[], queues::POSTED[0].of), None);
    }

    #[test]
    fn the_table_names_the_outliers() {
        let text = table(&[rank(0, 14559, 0.571345), rank(1, 12, 3e-6), rank(2, 100, 5e-6)]);
        let expected = "
                             min  rank   median     max  rank
 posted queue
   receives                   12     1      100   14559     0
   max length                  2     0        2       2     0
   time populated           0 ns     0     0 ns    0 ns     0
   mean lifetime         1.00 us     0  1.00 us 1.00 us     0
   longest lifetime      3.00 us     1  5.00 us  571 ms     0
 posted queue searches
   searches                    1     0        1       1     0
   total time            78.0 ns     0  78.0 ns 78.0 ns     0
   mean time                0 ns     0     0 ns    0 ns     0
   longest                  0 ns     0     0 ns    0 ns     0
";
        let words = |text: &str| -> Vec<Vec<String>> {
            text.trim().lines().map(|l| l.split_whitespace().map(str::to_owned).collect()).collect()
        };
        assert_eq!(words(&text), words(expected), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn windows_have_a_group_where_there_are_any() {
        use crate::profile::{KindProfile, WindowProfile, WindowThread};
        let operations = [("put".into(), KindProfile { started: 7, bytes: 56 })].into();
        let thread = WindowThread { operations, synchronising_s: 2e-3, ..WindowThread::default() };
        let window = WindowProfile { threads: vec![thread], ..WindowProfile::default() };
        let one = RankProfile { rank: 1, windows: vec![window], ..RankProfile::default() };
        let text = table(&[RankProfile::default(), one]);
        let words = |name: &str| -> Vec<String> {
            let line = text.lines().find_map(|line| line.trim().strip_prefix(name)).unwrap_or_default();
            line.split("  ").map(|word| word.trim().to_owned()).filter(|word| !word.is_empty()).collect()
        };
        assert_eq!(words("operations"), ["0", "0", "3.5", "7", "1"], "{text}");
        assert_eq!(words("synchronising"), ["0 ns", "0", "1.00 ms", "2.00 ms", "1"], "{text}");
        assert!(!text.contains("posted") && !text.contains("complete"), "{text}");
    }

    #[test]
    fn one_rank_needs_no_spread_and_no_rank_no_table() {
        assert!(table(&[rank(7, 3, 0.5)]).lines().next().unwrap().ends_with("rank 7"));
        assert_eq!(table(&[]), "");
        assert_eq!(table(&[RankProfile::default()]), "");
    }
}
