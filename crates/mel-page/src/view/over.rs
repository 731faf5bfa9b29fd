//! Beyond some number of ranks: how each number is distributed over them, which ranks stand out, and the numbers of one that is asked for.

use serde::{Serialize, Serializer};

use super::table::columns;
use mel_log::profile::OverRanks;
use mel_log::profile::columns::{Columns, FUNCTIONS, TIME};
use mel_log::profile::quantities::Unit;

/// Up to so many ranks, each has a bar.
pub const MOST_RANKS: usize = 512;
/// The most single numbers of ranks that a page has: some 8 MB of text.
const MOST_VALUES: usize = 1_200_000;

/// The ranks of a run together.
#[derive(Debug, Default, Serialize)]
pub struct Over {
    /// How many.
    pub ranks: u32,
    /// The ranks, if they are not all from 0 on.
    pub numbers: Option<Vec<u32>>,
    /// Names of hosts, where the host of each rank is known.
    pub names: Vec<String>,
    /// The place of each rank's host among the names.
    pub host: Vec<Option<u32>>,
    /// Each number over the ranks.
    pub columns: Vec<Column>,
}

/// A number over the ranks, as [`OverRanks`] has it.
#[derive(Debug, Serialize)]
pub struct Column {
    /// What it is a number of.
    pub group: String,
    /// Its name within the group.
    pub name: String,
    /// What it is counted in.
    pub unit: Unit,
    /// How many ranks have it.
    pub ranks: u32,
    /// The sum of all.
    pub sum: f64,
    /// The median.
    pub median: f64,
    /// What 5 % of the ranks do not exceed.
    pub low: f64,
    /// What 95 % of the ranks do not exceed.
    pub high: f64,
    /// The ranks with the least values, the least first.
    pub lowest: Vec<OfRank>,
    /// The ranks with the greatest values, the greatest first.
    pub highest: Vec<OfRank>,
    /// Bins from the least value to the greatest; empty ones are left out.
    #[serde(serialize_with = "columns")]
    pub histogram: Vec<Bin>,
    /// The number of each rank, to four digits, if there is space for them; null for none.
    pub values: Option<Vec<Rounded>>,
}

/// A number of one rank.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct OfRank {
    /// The rank in `MPI_COMM_WORLD`.
    pub rank: u32,
    /// The number.
    pub value: f64,
}

impl From<(f64, u32)> for OfRank {
    fn from((value, rank): (f64, u32)) -> OfRank {
        OfRank { rank, value }
    }
}

/// How many ranks have a number within two bounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bin {
    /// The lower bound.
    pub from: f64,
    /// The upper bound.
    pub to: f64,
    /// How many.
    pub ranks: u32,
}

impl Column {
    fn of(over: OverRanks) -> Column {
        let ends = |ranks: Vec<(u32, f64)>| ranks.into_iter().map(|(rank, value)| OfRank { rank, value });
        let [low, _, median, _, high] = over.quantiles;
        Column {
            group: over.group,
            name: over.name,
            unit: over.unit,
            ranks: over.ranks,
            sum: over.sum,
            median,
            low,
            high,
            lowest: ends(over.lowest).collect(),
            highest: ends(over.highest).collect(),
            histogram: over.histogram.into_iter().map(|(from, to, ranks)| Bin { from, to, ranks }).collect(),
            values: None,
        }
    }
}

/// A number that is written with four digits.
#[derive(Clone, Copy, Debug)]
pub struct Rounded(f64);

impl Serialize for Rounded {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rounded = format!("{:.3e}", self.0).parse().ok().filter(|value: &f64| value.is_finite());
        match rounded {
            Some(value) if value.fract() == 0.0 && value.abs() < 1e15 => {
                serializer.serialize_i64(value as i64)
            }
            other => other.serialize(serializer),
        }
    }
}

/// What is known without the numbers of each rank.
pub fn of_sums(ranks: u32, over_ranks: &[OverRanks]) -> Over {
    let columns = over_ranks.iter().cloned().map(Column::of).collect();
    Over { ranks, columns, ..Over::default() }
}

/// The numbers of all ranks; those that come first in importance with the number of each.
pub fn of_columns(all: &Columns) -> Over {
    let mut columns: Vec<Column> = all.over_ranks().into_iter().map(Column::of).collect();
    let importance = |column: &Column| match &*column.group {
        TIME => 0,
        FUNCTIONS => 2,
        _ if column.name.starts_with("longest") || column.name.starts_with("max") => 1,
        _ => 3,
    };
    let mut order: Vec<usize> = (0..columns.len()).collect();
    order.sort_by_key(|place| importance(&columns[*place]));
    for place in order.into_iter().take(MOST_VALUES / all.ranks.len().max(1)) {
        let column = &mut columns[place];
        let is_it =
            |name: &mel_log::profile::columns::Column| name.group == column.group && name.name == column.name;
        let values = all.columns.iter().find(|(name, _)| is_it(name)).map(|(_, values)| values);
        column.values = values.map(|values| values.iter().map(|value| Rounded(*value)).collect());
    }
    let in_order = all.ranks.iter().copied().eq(0..all.ranks.len() as u32);
    Over {
        ranks: all.ranks.len() as u32,
        numbers: (!in_order).then(|| all.ranks.clone()),
        names: all.hosts.clone(),
        host: all.host.iter().map(|place| place.is_finite().then_some(*place as u32)).collect(),
        columns,
    }
}

/// A list with an entry for each rank, for `#[serde(serialize_with)]`: empty where there are more than [`MOST_RANKS`].
pub(super) fn few<T: Serialize, S: Serializer>(ranks: &[T], serializer: S) -> Result<S::Ok, S::Error> {
    let few = if ranks.len() > MOST_RANKS { &[] } else { ranks };
    few.serialize(serializer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mel_log::profile::sample;

    #[test]
    fn a_page_of_very_many_ranks_has_a_bounded_size() {
        let (_, columns) = sample::reduce(sample::late_rank(700, 17));
        // The same ranks again and again.
        let repeat = |values: &[f64]| values.iter().copied().cycle().take(100_000).collect();
        let many = Columns {
            ranks: (0..100_000).collect(),
            columns: columns.columns.iter().map(|(name, values)| (name.clone(), repeat(values))).collect(),
            hosts: columns.hosts.clone(),
            host: repeat(&columns.host),
            damaged: Vec::new(),
        };
        let over = of_columns(&many);
        assert!(over.columns.iter().filter(|column| column.values.is_some()).count() == 12);
        assert!(
            over.columns.iter().filter(|column| column.group == TIME).all(|column| column.values.is_some())
        );
        let text = serde_json::to_string(&over).unwrap();
        assert!(text.len() < 9 << 20, "{} bytes", text.len());
        assert!(over.numbers.is_none());
        assert!(of_columns(&columns).columns.iter().all(|column| column.values.is_some()));
    }

    #[test]
    fn numbers_have_four_digits() {
        let text = |value| serde_json::to_string(&Rounded(value)).unwrap();
        assert_eq!(
            [text(0.0), text(1234.56), text(0.000123456), text(f64::NAN)],
            ["0", "1235", "0.0001235", "null"]
        );
    }
}
