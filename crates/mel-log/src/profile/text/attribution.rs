//! Performance variables by MPI function, region and call site.

use super::layout::{percent, table, wrapped};
use crate::number::general;
use crate::profile::attribution::{By, NO_REGION, Over, Variable, over_ranks};
use crate::profile::schema::Profile;

/// The most places of a variable in a table.
const MOST: usize = 8;
/// The most variables in a table.
const MOST_VARIABLES: usize = 20;

/// The tables over all ranks; nothing where nothing was attributed.
pub fn attribution(profile: &Profile) -> String {
    let functions = over_ranks(profile, By::Function);
    if functions.is_empty() {
        return String::new();
    }
    let is_shown = |of: &&Variable| of.places.iter().any(|place| place.sum != 0.0);
    let shown: Vec<&Variable> = functions.iter().filter(is_shown).collect();
    let mut text = of(&shown, "MPI function");
    let regions = over_ranks(profile, By::Region);
    let has_regions = |of: &Variable| of.places.len() > 1 || of.places.iter().any(|p| p.place != NO_REGION);
    if regions.iter().any(has_regions) {
        let shown: Vec<&Variable> = regions.iter().filter(is_shown).collect();
        text += &of(&shown, "region");
    }
    let sites = over_ranks(profile, By::Site);
    let shown_sites: Vec<&Variable> = sites.iter().filter(is_shown).collect();
    text += &of(&shown_sites, "call site");
    let zero = functions.iter().filter(|of| of.every > 0 && !is_shown(of)).count();
    let listed = functions.iter().filter(|of| of.every == 0).count();
    if zero > 0 {
        text += &format!("   without a change: {zero} variables\n");
    }
    if listed > 0 {
        text += &format!("   only listed, because their values cannot be attributed: {listed} variables\n");
    }
    text + &words(&shown)
}

/// What the numbers are.
fn words(shown: &[&Variable]) -> String {
    let named = |basis: &str| {
        let names = shown.iter().filter(|of| of.of.basis == basis).map(|of| of.of.name.as_str());
        let mut names: Vec<&str> = names.collect();
        names.dedup();
        match names.len() {
            0 => None,
            1..=4 => Some(format!("{basis}: {}", names.join(", "))),
            many => Some(format!("{basis}: {many} variables")),
        }
    };
    let all: Vec<String> = ["observed", "modelled", "estimated"].into_iter().filter_map(named).collect();
    let mut text = if all.is_empty() { String::new() } else { wrapped("   ", &all.join("; ")) };
    let every = shown.iter().map(|of| of.every).max().unwrap_or(0);
    if every > 1 {
        let estimates = format!(
            "shares marked with ~ are estimates: one in up to {every} calls was read, to stay within the budget \
             (--attribute-budget); the total of each variable is exact"
        );
        text += &wrapped("   ", &estimates);
    }
    text
}

/// One table: the name of each variable, and its places below it.
fn of(variables: &[&Variable], by: &str) -> String {
    let is_by_site = by == "call site";
    let mut header = vec![format!("  {by}")];
    if is_by_site {
        header.push("MPI function".into());
    }
    let texts: Vec<usize> = (0..header.len()).collect();
    let numbers = ["sum", "share", "in", "min", "rank", "mean", "max", "rank"];
    header.extend(numbers.into_iter().map(str::to_owned));
    let mut rows = vec![header];
    for variable in variables.iter().take(MOST_VARIABLES) {
        rows.push(vec![variable.of.title()]);
        let places = variable.places.iter().filter(|place| place.sum != 0.0);
        rows.extend(places.clone().take(MOST).map(|place| row(variable, place, is_by_site)));
        let more = places.count().saturating_sub(MOST);
        if more > 0 {
            rows.push(vec![format!("  and {more} more")]);
        }
    }
    if rows.len() == 1 {
        return String::new();
    }
    if variables.len() > MOST_VARIABLES {
        rows.push(vec![format!("and {} more variables", variables.len() - MOST_VARIABLES)]);
    }
    format!(
        "\n performance variables by {by}: sum of all ranks (levels: mean), calls, and over the ranks\n{}",
        table(&rows, &texts)
    )
}

fn row(variable: &Variable, place: &Over, is_by_site: bool) -> Vec<String> {
    let is_level = matches!(&*variable.of.class, "level" | "percentage" | "state" | "size");
    let share = if variable.of.counts() && variable.grown != 0.0 {
        percent(place.sum / variable.grown)
    } else {
        String::new()
    };
    let mark = if variable.every > 1 && variable.of.counts() { "~" } else { "" };
    let mean = if is_level { place.sum } else { place.sum / f64::from(variable.ranks.max(1)) };
    let mut row = vec![format!("  {}", place.place)];
    if is_by_site {
        row.push(place.function.clone());
    }
    row.extend([
        format!("{mark}{}", whole(place.sum)),
        share,
        place.times.to_string(),
        whole(place.least.0),
        place.least.1.to_string(),
        whole(mean),
        whole(place.greatest.0),
        place.greatest.1.to_string(),
    ]);
    row
}

/// A whole number, and a large one, with all of its digits; others with six.
fn whole(value: f64) -> String {
    let is_whole = value.fract() == 0.0 || value.abs() >= 1e5;
    if is_whole && value.abs() < 1e15 { format!("{value:.0}") } else { general(value) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::attribution::tests::profile;

    #[test]
    fn a_variable_has_its_functions_regions_and_lines() {
        assert_eq!(attribution(&Profile::default()), "");
        let text = attribution(&profile());
        for part in
            ["num_free_calls\n", "MPI_Wait", "120", "96.8 %", "220", "outside MPI", "main/solve", "a.c:3 (f)"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(text.contains("observed: num_free_calls; modelled: mel_posted_queue_length"), "{text}");
        assert!(!text.contains('~'), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= super::super::COLUMNS), "{text}");
    }

    #[test]
    fn estimates_are_called_so() {
        let mut estimated = profile();
        estimated.ranks[1].attributed[0].every = 12;
        let text = attribution(&estimated);
        assert!(text.contains("~120") && text.contains("one in up to 12 calls was read"), "{text}");
    }
}
