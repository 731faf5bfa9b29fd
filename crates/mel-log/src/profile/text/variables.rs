//! Performance variables that were sampled: over the ranks, and of each rank.

use std::collections::BTreeMap;

use super::layout::table;
use crate::number::general;
use crate::profile::schema::{Profile, RankProfile};
use crate::profile::variables::VariableProfile;
use crate::settings::MARK;

/// The most variables that have a line.
const MOST: usize = 40;

/// One variable on one object, over the ranks.
struct Over<'a> {
    of: &'a VariableProfile,
    ranks: usize,
    least: (f64, u32),
    greatest: (f64, u32),
    sum: f64,
    /// The squares of what the values at the end are off their mean.
    squares: f64,
    /// Of what has samples on each rank: the least, the sum of means, the greatest, and the greatest deviation.
    min: f64,
    means: f64,
    max: f64,
    deviation: f64,
}

/// Whether anything was ever seen of a variable.
fn is_zero(over: &Over<'_>) -> bool {
    over.least.0 == 0.0 && over.greatest.0 == 0.0 && over.min == 0.0 && over.max == 0.0
}

/// A variable's name, with the object where that is not the whole world.
fn title(of: &VariableProfile) -> String {
    match &*of.object {
        "" | "MPI_COMM_WORLD" => of.name.clone(),
        object => format!("{} ({object})", of.name),
    }
}

/// A number with four significant digits.
fn short(value: f64) -> String {
    let digits = 3 - value.abs().max(1e-300).log10().floor() as i32;
    let scale = 10f64.powi(digits.clamp(-300, 300));
    let rounded = (value * scale).round() / scale;
    general(if rounded.is_finite() && value != 0.0 { rounded } else { value })
}

/// What is told of a variable at its end: by how much it has grown, or its last value.
fn end(of: &VariableProfile) -> f64 {
    of.grown.unwrap_or(of.last)
}

/// The table over all ranks; nothing where none were sampled. Variables that were zero throughout are named together.
pub fn variables(profile: &Profile) -> String {
    let mut all: Vec<Over<'_>> = Vec::new();
    let mut places: BTreeMap<(&str, &str, &str), usize> = BTreeMap::new();
    for rank in &profile.ranks {
        for of in rank.variables.iter().filter(|of| of.samples > 0 && of.element.is_none()) {
            let place = *places.entry((&of.name, &of.class, &of.object)).or_insert_with(|| {
                let at = (end(of), rank.rank);
                let (min, max) = (of.min, of.max);
                let (ranks, sum, squares, means, deviation) = (0, 0.0, 0.0, 0.0, 0.0);
                let (least, greatest) = (at, at);
                all.push(Over { of, ranks, least, greatest, sum, squares, min, means, max, deviation });
                all.len() - 1
            });
            let over = &mut all[place];
            let value = end(of);
            let off = value - over.sum / over.ranks.max(1) as f64;
            over.squares += off * off * over.ranks as f64 / (over.ranks + 1) as f64;
            over.ranks += 1;
            over.sum += value;
            if value < over.least.0 {
                over.least = (value, rank.rank);
            }
            if value > over.greatest.0 {
                over.greatest = (value, rank.rank);
            }
            over.min = over.min.min(of.min);
            over.max = over.max.max(of.max);
            over.means += of.mean;
            over.deviation = over.deviation.max(of.deviation);
        }
    }
    if all.is_empty() {
        return String::new();
    }
    let (zero, shown): (Vec<_>, Vec<_>) = all.iter().partition(|over| is_zero(over));
    let header = ["variable", "last", "least", "most", "rank", "dev", "min", "mean", "max", "dev", ""];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    for over in shown.iter().take(MOST) {
        let values = [over.min, over.means / over.ranks as f64, over.max, over.deviation].map(short);
        let ends = [over.sum / over.ranks as f64, over.least.0, over.greatest.0].map(short);
        let per = if over.of.counts() { "per s" } else { "" };
        let over_ranks = (over.squares / over.ranks.saturating_sub(1).max(1) as f64).sqrt();
        let at_the_end = ends.into_iter().chain([over.greatest.1.to_string(), short(over_ranks)]);
        let row = [title(over.of)].into_iter().chain(at_the_end);
        rows.push(row.chain(values).chain([per.to_owned()]).collect());
    }
    let mut text = String::from(
        "\n variables at the end (of what counts up: its growth): mean over ranks, least, most, and their\n deviation over ranks (dev); and all samples, with the greatest deviation of a rank\n",
    );
    if rows.len() > 1 {
        text += &table(&rows, &[0, 10]);
    }
    if shown.len() > MOST {
        text += &format!("   and {} more variables, which are in the profile\n", shown.len() - MOST);
    }
    if !zero.is_empty() {
        text += &format!("   zero throughout: {} variables\n", zero.len());
    }
    text
}

/// The most ranks that have a column each.
const MOST_RANKS: usize = 8;

/// What each rank has at the end, of few ranks; variables that are alike on all of them are left out.
pub fn by_rank(profile: &Profile) -> String {
    if !(2..=MOST_RANKS).contains(&profile.ranks.len()) {
        return String::new();
    }
    let mut ends: BTreeMap<String, Vec<Option<f64>>> = BTreeMap::new();
    for (place, rank) in profile.ranks.iter().enumerate() {
        for of in rank.variables.iter().filter(|of| of.samples > 0 && of.element.is_none()) {
            let row = ends.entry(title(of)).or_default();
            row.resize(profile.ranks.len(), None);
            row[place] = Some(end(of));
        }
    }
    ends.retain(|_, row| row.iter().any(|value| *value != row[0]));
    if ends.is_empty() {
        return String::new();
    }
    let ranks = profile.ranks.iter().map(|rank| format!("rank {}", rank.rank));
    let header: Vec<String> = ["variable".to_owned()].into_iter().chain(ranks).collect();
    let mut all = vec![header];
    for (title, row) in ends.into_iter().take(MOST) {
        let values = row.into_iter().map(|value| value.map_or_else(|| "-".into(), short));
        all.push([title].into_iter().chain(values).collect());
    }
    format!("\n variables by rank, at the end\n{}", table(&all, &[0]))
}

/// A line for each variable of a rank.
pub fn lines(rank: &RankProfile) -> String {
    let mut text = String::new();
    for of in rank.variables.iter().filter(|of| of.samples > 0 && of.element.is_none()) {
        let on = if of.object.is_empty() { String::new() } else { format!(" on {}", of.object) };
        let what = if of.counts() { " per s" } else { "" };
        text += &format!(
            "{MARK}Variable {}{on} rank: {} samples: {} first: {} last: {} min{what}: {} mean: {} max: {} deviation: {}\n",
            of.name,
            rank.rank,
            of.samples,
            general(of.first),
            general(of.last),
            general(of.min),
            general(of.mean),
            general(of.max),
            general(of.deviation),
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile() -> Profile {
        let variable = |name: &str, class: &str, last: f64| VariableProfile {
            name: name.into(),
            class: class.into(),
            object: "MPI_COMM_WORLD".into(),
            samples: 3,
            last,
            grown: (class == "counter").then_some(last),
            max: last,
            ..VariableProfile::default()
        };
        let ranks = (0..4).map(|rank| RankProfile {
            rank,
            variables: vec![
                variable("unexpected_recvq_length", "level", f64::from(rank)),
                variable(
                    "a_counter_with_a_name_that_is_much_too_long_for_a_table_of_columns",
                    "counter",
                    8.0,
                ),
                variable("nothing", "size", 0.0),
            ],
            ..RankProfile::default()
        });
        Profile { ranks: ranks.collect(), ..Profile::default() }
    }

    #[test]
    fn each_variable_has_a_line_over_the_ranks_and_none_is_too_long() {
        assert_eq!(variables(&Profile::default()), "");
        let text = variables(&profile());
        assert!(
            text.contains("unexpected_recvq_length") && text.contains("1.5") && text.contains("per s"),
            "{text}"
        );
        assert!(text.contains("1.291"), "the deviation of 0, 1, 2 and 3: {text}");
        assert!(text.contains("zero throughout: 1 variables"), "{text}");
        assert!(text.lines().skip(2).all(|line| line.chars().count() <= super::super::COLUMNS), "{text}");
    }

    #[test]
    fn of_few_ranks_each_has_a_column_where_they_differ() {
        let text = by_rank(&profile());
        assert_eq!(text.lines().count(), 4, "{text}");
        assert!(text.contains("unexpected_recvq_length") && !text.contains("a_counter"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= super::super::COLUMNS), "{text}");
    }

    #[test]
    fn each_rank_has_lines_of_its_own() {
        let text = lines(&profile().ranks[2]);
        assert_eq!(text.lines().count(), 3);
        assert!(
            text.starts_with("[MEL] Variable unexpected_recvq_length on MPI_COMM_WORLD rank: 2 "),
            "{text}"
        );
    }
}
