//! A profile as the text that a user reads at the end of a run.

use std::path::Path;

use super::attribution::attribution;
use super::bindings::bindings;
use super::call_sites::{call_sites, receives};
use super::code::code;
use super::communicators::communicators;
use super::connections::connections;
use super::header::header;
use super::layout::wrapped;
use super::mpi_time::mpi_time;
use super::phases::phases;
use super::told::told;
use super::traffic::traffic;
use super::variables;
use super::verdict::verdict;
use super::waits::waits;
use super::{budget, efficiency};
use crate::profile::columns::{FUNCTIONS, TIME};
use crate::profile::ends;
use crate::profile::findings::others;
use crate::profile::schema::{Profile, RankProfile};
use crate::profile::statistics;
use crate::profile::summary::{longest_of_queues, spread, table, table_over_ranks};
use crate::profile::windows;
use crate::settings::MARK;

/// Above so many ranks the text has no lines per rank, except for the extremes.
pub const MOST_RANKS: usize = 32;

/// What the text has.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// The run's directory, if it is to be named.
    pub directory: Option<&'a Path>,
    /// Whether the statistics of each rank are in it, in the paper's wording.
    pub lines: bool,
}

/// The whole text: which run it is, the verdict, time in MPI, call sites, waits, queues, and facts that the user should know. No line but
/// the statistics of ranks is longer than [`COLUMNS`](super::COLUMNS).
pub fn report(profile: &Profile, options: Options<'_>) -> String {
    let mut text = if options.lines { lines(profile) } else { String::new() };
    text += &overview(profile, options.directory, MARK);
    text += &code(profile);
    text += &queues(profile);
    text += &bindings(profile);
    text += &communicators(profile);
    text += &traffic(profile);
    text += &connections(profile);
    text += &variables::variables(profile);
    text += &attribution(profile);
    text += &told(profile);
    text + &facts(profile, MARK)
}

/// The statistics of each rank in the paper's wording. Above [`MOST_RANKS`] ranks they are those of the ranks with the longest lifetimes
/// and searches.
pub fn lines(profile: &Profile) -> String {
    if profile.reduced.is_some() {
        return format!(
            "{MARK}a run of this size has no line for each rank: ranks.table has the numbers of each\n"
        );
    }
    let mut text = String::new();
    let shown: Vec<&RankProfile> = match profile.ranks.len() {
        0..=MOST_RANKS => profile.ranks.iter().collect(),
        _ => extremes(&profile.ranks),
    };
    for rank in &shown {
        if profile.has_queues() {
            text += &statistics::lines(rank);
        }
        text += &windows::lines(rank);
        text += &variables::lines(rank);
    }
    if profile.ranks.len() > shown.len() {
        text += &format!("{MARK}the lines above show the extremes; the profile has all ranks\n");
    }
    text
}

/// Which run it is, how ranks ended that have not called `MPI_Finalize`, what costs time, and where it goes: all before the queues. Sentences begin with `mark`.
pub fn overview(profile: &Profile, directory: Option<&Path>, mark: &str) -> String {
    let mut text = header(profile, directory, mark);
    text.extend(ends::sentences(profile).iter().map(|sentence| wrapped(mark, sentence)));
    let of_time = efficiency::sentence(profile).into_iter().chain(budget::parts(profile));
    text.extend(of_time.map(|sentence| wrapped(mark, &sentence)));
    text += &verdict(profile, mark);
    text += &phases(profile);
    text += &efficiency::by_part(profile);
    text += &mpi_time(profile);
    text += &call_sites(profile);
    text + &waits(profile)
}

/// The queues across ranks, and by call site.
pub fn queues(profile: &Profile) -> String {
    let table = match &profile.reduced {
        Some(reduced) => table_over_ranks(&reduced.over_ranks, &[TIME, FUNCTIONS]),
        None => table(&profile.ranks),
    };
    let before = if profile.has_calls() && !table.is_empty() { "\n" } else { "" };
    format!("{before}{table}{}", receives(profile))
}

/// Facts without a problem, and how far the numbers can be trusted: a sentence each, which begins with `mark`.
pub fn facts(profile: &Profile, mark: &str) -> String {
    others(profile).iter().map(|sentence| wrapped(mark, sentence)).collect()
}

/// The ranks that have the longest lifetime in either queue or the longest search of either.
fn extremes(ranks: &[RankProfile]) -> Vec<&RankProfile> {
    let named: Vec<u32> = longest_of_queues().filter_map(|q| Some(spread(ranks, q.of)?.max.1)).collect();
    ranks.iter().filter(|rank| named.contains(&rank.rank)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{QueueStats, sample};

    const LINES: Options<'_> = Options { directory: None, lines: true };

    fn run(ranks: u32) -> Profile {
        let ranks = (0..ranks).map(|rank| RankProfile {
            rank,
            posted: QueueStats { messages: 5, max_s: f64::from(rank) * 1e-6, ..QueueStats::default() },
            ..RankProfile::default()
        });
        Profile {
            mpi: "Open MPI 4.1.4, package: Debian\nmore".into(),
            backend: "model".into(),
            duration_s: 2.0,
            ranks: ranks.collect(),
            ..Profile::default()
        }
    }

    #[test]
    fn up_to_32_ranks_each_has_its_lines_if_asked_for() {
        let text = report(&run(32), LINES);
        assert_eq!(text.matches("[MEL] Posted queue statistics rank:").count(), 32);
        assert!(text.contains("\n[MEL] 32 ranks, 2.00 s, Open MPI 4.1.4, events: model\n"), "{text}");
        assert!(text.contains("longest lifetime"));
        let text = report(&run(32), Options::default());
        assert!(!text.contains("statistics rank:") && text.starts_with("[MEL] 32 ranks"), "{text}");
    }

    #[test]
    fn beyond_only_the_extremes_have() {
        let text = report(&run(33), LINES);
        assert_eq!(text.matches("[MEL] Posted queue statistics rank: 32 ").count(), 1);
        assert_eq!(text.matches("statistics rank:").count(), 4);
        assert!(text.contains("show the extremes"), "{text}");
    }

    #[test]
    fn what_costs_time_comes_before_the_queues() {
        let text = report(&sample::late_rank(4, 1), Options::default());
        let order = [
            "./halo",
            "What costs time",
            "time by rank",
            "time by MPI function",
            "call sites",
            "wait states",
            "posted queue",
            "receives that find",
        ];
        let places: Vec<usize> = order.iter().map(|part| text.find(part).expect(part)).collect();
        assert!(places.is_sorted(), "{places:?} {text}");
    }

    #[test]
    fn how_a_rank_ended_comes_before_all_else_and_nothing_is_said_of_the_program() {
        let mut profile = sample::healthy(4);
        profile.ranks[1].ended = crate::profile::Ended::Killed;
        let text = report(&profile, Options::default());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[2], "[MEL] rank 1 was killed: the numbers end there", "{text}");
        assert_eq!(text.matches("was killed").count(), 1, "{text}");
        assert!(!text.contains("not what holds this program back"), "{text}");
        assert!(!text.contains("no rank waits long"), "{text}");
    }

    #[test]
    fn lines_fit_however_many_ranks() {
        for ranks in [1, 2, 16, 17, 300] {
            for profile in [sample::healthy(ranks), sample::late_rank(ranks, 0)] {
                let text = report(&profile, Options::default());
                let longest = text.lines().map(|line| line.chars().count()).max();
                assert!(longest <= Some(super::super::COLUMNS), "{text}");
                assert!(text.lines().count() < 85, "{text}");
            }
        }
    }

    #[test]
    fn an_empty_profile_is_a_short_text() {
        assert!(report(&Profile::default(), Options::default()).starts_with("[MEL] 0 ranks, 0 ns\n"));
    }
}
