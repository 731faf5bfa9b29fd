//! The call sites that take the most time, and those whose receives found their messages unexpected or searched long.

use super::layout::{table, table_to};
use crate::profile::quantities::sites::{CALLED, CALLED_IN_SHORT, Part, RECEIVED};
use crate::profile::quantities::{Basis, Quantity, cells, heads};
use crate::profile::schema::Profile;
use crate::profile::sums::{OfSite, by_site};

/// The most call sites in a table.
const MOST: usize = 10;
/// A rank is named as the cause of the waits of a call site if it has this share of them.
const CAUSE: f64 = 0.5;

/// The table of call sites; nothing where calls were not counted.
pub fn call_sites(profile: &Profile) -> String {
    let sites = by_site(profile);
    if sites.is_empty() {
        return String::new();
    }
    let rows = rows(profile, &sites, ["called from", "MPI function"], CALLED, true);
    let title = "call sites that take the most time, all ranks together";
    format!("\n {title}\n{}{}", table(&rows, &[0, 1]), more(sites.len()))
}

/// The first so many of them in so many columns, with less of each; nothing where calls were not counted.
pub(super) fn in_short(profile: &Profile, most: usize, columns: usize) -> String {
    let sites = by_site(profile);
    if sites.is_empty() {
        return String::new();
    }
    let shown = &sites[..sites.len().min(most)];
    let rows = rows(profile, shown, ["called from", "MPI function"], CALLED_IN_SHORT, true);
    let number = if sites.len() > most { format!(" {most} of {}", sites.len()) } else { String::new() };
    format!(
        " the{number} call sites that take the most time, all ranks together\n{}",
        table_to(columns, &rows, &[0, 1])
    )
}

/// The table of receives by call site; nothing where none found a message unexpected.
pub fn receives(profile: &Profile) -> String {
    let mut sites = by_site(profile);
    sites.retain(|site| site.sum.messages.unexpected > 0);
    if sites.is_empty() {
        return String::new();
    }
    sites.sort_by(|a, b| {
        let cost = |site: &OfSite| (site.sum.messages.unexpected_bytes, site.sum.messages.unexpected);
        cost(b).cmp(&cost(a)).then_with(|| a.site.cmp(&b.site))
    });
    let rows = rows(profile, &sites, ["received from", "MPI function"], RECEIVED, false);
    let basis = Basis::Modelled.word_in(profile);
    let title = format!("receives that find their messages unexpected, by call site ({basis})");
    format!(" {title}\n{}{}", table(&rows, &[0, 1]), more(sites.len()))
}

/// Heads and lines: names, the quantities of the catalogue that have heads, and whom the calls wait for.
fn rows(
    profile: &Profile,
    sites: &[OfSite],
    names: [&str; 2],
    catalogue: &'static [Quantity<Part>],
    has_cause: bool,
) -> Vec<Vec<String>> {
    let part = Part::of_run(profile);
    let causes: &[&str] = if has_cause { &["waits for"] } else { &[] };
    let head = [names.to_vec(), heads(catalogue).collect(), causes.to_vec()].concat();
    let mut rows = vec![head.into_iter().map(str::to_owned).collect::<Vec<_>>()];
    rows.extend(sites.iter().take(MOST).map(|site| {
        let numbers = cells(catalogue, &[&part(&site.sum)]).collect::<Vec<_>>();
        let cause = has_cause.then(|| cause(site)).into_iter().collect();
        [vec![name(site), site.function.clone()], numbers, cause].concat()
    }));
    rows
}

fn more(sites: usize) -> String {
    match sites.saturating_sub(MOST) {
        0 => String::new(),
        more => format!("   and {more} more in profile.json\n"),
    }
}

fn name(site: &OfSite) -> String {
    site.site.clone().unwrap_or_else(|| "(not known)".into())
}

/// The rank that most of the waiting at a call site is for.
fn cause(site: &OfSite) -> String {
    match site.waited_for.first() {
        Some((Some(rank), lost_s)) if *lost_s >= CAUSE * site.sum.lost_s && *lost_s > 0.0 => {
            format!("rank {rank}")
        }
        Some((_, lost_s)) if *lost_s > 0.0 => "several".into(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::sample;
    use crate::profile::text::COLUMNS;

    #[test]
    fn a_line_has_its_function_its_time_and_its_cause() {
        let text = call_sites(&sample::late_rank(4, 1));
        let line = text.lines().nth(3).unwrap();
        let cells: Vec<&str> = line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
        let expected = [
            "halo.c:44 (exchange)",
            "MPI_Waitall",
            "400",
            "1.22 s",
            "30.4 %",
            "66.1 %",
            "8.00 KiB",
            "rank 1",
        ];
        assert_eq!(cells, expected, "{text}");
        assert!(text.contains("libsolver.so.3+0x4f2a"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= COLUMNS), "{text}");
    }

    #[test]
    fn the_lines_of_receives_tell_what_they_found() {
        let text = receives(&sample::late_rank(4, 1));
        let line = text.lines().nth(2).unwrap();
        let cells: Vec<&str> = line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
        let expected = ["halo.c:38 (exchange)", "MPI_Irecv", "800", "10.0 %", "320 KiB", "160 us", "1.00 us"];
        assert_eq!(cells, expected, "{text}");
    }

    #[test]
    fn many_sites_are_few_lines_however_long_their_names() {
        let mut profile = sample::healthy(4);
        let call = profile.ranks[0].calls[0].clone();
        for place in 0..50 {
            let function = format!("{}{place}", "a_name_of_a_template_instantiation_".repeat(5));
            let site = crate::profile::CallSite { function, ..profile.sites[0].clone() };
            profile.sites.push(site);
            let site = Some(profile.sites.len() as u32 - 1);
            let function = "MPI_Neighbor_alltoallw_init".into();
            profile.ranks[0].calls.push(crate::profile::CallProfile { site, function, ..call.clone() });
        }
        let text = call_sites(&profile);
        assert!(
            text.lines().count() == MOST + 4 && text.ends_with("and 45 more in profile.json\n"),
            "{text}"
        );
        assert!(text.lines().all(|line| line.chars().count() <= COLUMNS), "{text}");
    }

    #[test]
    fn without_calls_there_is_no_table() {
        assert_eq!(call_sites(&Profile::default()) + &receives(&Profile::default()), "");
    }
}
