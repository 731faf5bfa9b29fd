//! The call sites that take the most time, and those whose receives found their messages unexpected or searched long.

use super::layout::{percent, table};
use crate::number::{duration, size};
use crate::profile::schema::Profile;
use crate::profile::sums::{OfSite, all_runs_s, by_site, share, whole};

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
    let (whole_s, in_mpi_s) = (all_runs_s(profile), whole(profile).total_s);
    let header =
        ["called from", "MPI function", "calls", "time", "of run", "of MPI", "bytes/call", "waits for"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    for site in sites.iter().take(MOST) {
        rows.push(vec![
            name(site),
            site.function.clone(),
            site.sum.calls.to_string(),
            duration(site.sum.total_s),
            percent(share(site.sum.total_s, whole_s)),
            percent(share(site.sum.total_s, in_mpi_s)),
            size(site.sum.mean_bytes()),
            cause(site),
        ]);
    }
    let title = "call sites that take the most time, all ranks together";
    format!("\n {title}\n{}{}", table(&rows, &[0, 1]), more(sites.len()))
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
    let header =
        ["received from", "MPI function", "messages", "unexpected", "copied", "searching", "longest search"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    for site in sites.iter().take(MOST) {
        let found = site.sum.messages;
        let messages = found.expected.saturating_add(found.unexpected);
        rows.push(vec![
            name(site),
            site.function.clone(),
            messages.to_string(),
            percent(share(found.unexpected as f64, messages as f64)),
            size(found.unexpected_bytes as f64),
            duration(found.search_s),
            duration(found.longest_search_s),
        ]);
    }
    let title = "receives that find their messages unexpected, by call site (modelled)";
    format!(" {title}\n{}{}", table(&rows, &[0, 1]), more(sites.len()))
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
