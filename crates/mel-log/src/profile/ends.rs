//! How ranks ended, and where those were last seen of which no end is known.

use serde::{Deserialize, Serialize};

use super::reduced::Reduced;
use super::schema::{Profile, RankProfile};
use super::text::layout::{ranks as ranks_in_words, ranks_of};
use crate::number::{duration, instant};

/// How a rank ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// With `MPI_Finalize`.
    #[default]
    Finalised,
    /// With `MPI_Abort`.
    Aborted,
    /// With `exit`, without `MPI_Finalize`.
    Exited,
    /// Without a word: it was killed or crashed.
    Killed,
    /// It has not: it runs.
    Running,
}

impl Ended {
    /// The ends that a process writes into the header of its [table](crate::table), by their numbers there.
    const IN_TABLE: [(u64, Ended); 3] = [(1, Ended::Finalised), (2, Ended::Aborted), (3, Ended::Exited)];

    /// Its number in the header of a table: 0 where the process has written no end.
    pub fn in_table(self) -> u64 {
        Self::IN_TABLE.iter().find(|(_, ended)| *ended == self).map_or(0, |(number, _)| *number)
    }

    /// How a process ended whose table has this number, and which runs or does not.
    pub fn of_table(number: u64, is_running: bool) -> Ended {
        let open = if is_running { Ended::Running } else { Ended::Killed };
        Self::IN_TABLE.iter().find(|(known, _)| *known == number).map_or(open, |(_, ended)| *ended)
    }

    /// Whether nothing is known of its end.
    pub fn is_open(self) -> bool {
        matches!(self, Ended::Killed | Ended::Running)
    }

    /// Whether the rank came to an end before `MPI_Finalize`.
    pub fn is_early(self) -> bool {
        matches!(self, Ended::Aborted | Ended::Exited | Ended::Killed)
    }
}

/// A call that was the last that a rank has made, or is in. Times are in seconds since the rank called `MPI_Init*`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LastCall {
    /// The thread.
    pub thread: u32,
    /// The MPI function.
    pub function: String,
    /// The call site, as a place in the profile's `sites`; absent where it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub site: Option<u32>,
    /// The communicator, as a place in the profile's `communicators`; absent for calls that have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub communicator: Option<u32>,
    /// When it was entered.
    pub entered_s: f64,
    /// When it returned; absent where it has not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub returned_s: Option<f64>,
}

/// Whether some rank came to an end before `MPI_Finalize`, or has left nothing: then a verdict on the run is none on its program.
pub fn is_early(profile: &Profile) -> bool {
    let of_many = profile.reduced.iter().flat_map(|reduced| &reduced.ended);
    profile.ranks.iter().any(|rank| rank.ended.is_early())
        || of_many.into_iter().any(|of| of.ended.is_early())
        || !profile.missing_ranks().is_empty()
        || profile.missing_of_many() > 0
}

/// The most places that are named where ranks were last seen.
const MOST_PLACES: usize = 4;

/// Sentences about the ranks that did not end with `MPI_Finalize`, and about those of which nothing is known.
pub fn sentences(profile: &Profile) -> Vec<String> {
    if let Some(reduced) = &profile.reduced {
        return of_many(profile, reduced);
    }
    let mut sentences = Vec::new();
    for ended_as in [Ended::Aborted, Ended::Exited, Ended::Killed, Ended::Running] {
        let ended: Vec<&RankProfile> = profile.ranks.iter().filter(|rank| rank.ended == ended_as).collect();
        let ranks: Vec<u32> = ended.iter().map(|rank| rank.rank).collect();
        let Some(who) = ranks_in_words(&ranks) else { continue };
        let last = ended.iter().filter_map(|rank| rank.last_seen_s).reduce(f64::max);
        let seen = last.map_or(String::new(), |last| {
            let at = if profile.started_unix_s > 0.0 {
                instant(profile.started_unix_s + last)
            } else {
                String::new()
            };
            let at = if at.is_empty() { at } else { format!(" ({at})") };
            format!(", last seen {} after MPI_Init{at}", duration(last))
        });
        sentences.push(sentence(&who, ended_as, ranks.len() == 1) + &seen);
        sentences.extend(last_places(profile, &ended));
    }
    let missing = profile.missing_ranks();
    if let Some(who) = missing.in_words() {
        let why = if missing.len() == 1 {
            "it was killed before MPI_Init had returned, or its file is elsewhere"
        } else {
            "they were killed before MPI_Init had returned, or their files are elsewhere"
        };
        sentences.push(format!("{who} left no profile: {why}"));
    }
    sentences
}

/// The same of very many ranks.
fn of_many(profile: &Profile, reduced: &Reduced) -> Vec<String> {
    let named = reduced.ended.iter().filter_map(|of| {
        let who = ranks_of(&of.first, of.ranks as usize)?;
        (of.ended != Ended::Finalised).then(|| sentence(&who, of.ended, of.ranks == 1))
    });
    let mut sentences: Vec<String> = named.collect();
    let missing = profile.missing_of_many();
    if missing > 0 {
        let ranks = if missing == 1 { "rank" } else { "ranks" };
        sentences.push(format!("{missing} {ranks} left no profile: killed, or never came to their end"));
    }
    sentences
}

/// How these ranks ended, of which there is one or are several.
fn sentence(who: &str, ended: Ended, is_one: bool) -> String {
    let what = match (ended, is_one) {
        (Ended::Finalised, _) => "called MPI_Finalize",
        (Ended::Aborted, _) => "called MPI_Abort",
        (Ended::Exited, _) => "exited without MPI_Finalize",
        (Ended::Killed, true) => "was killed",
        (Ended::Killed, false) => "were killed",
        (Ended::Running, true) => "runs still",
        (Ended::Running, false) => "run still",
    };
    let until =
        if ended == Ended::Running { "the numbers are those so far" } else { "the numbers end there" };
    format!("{who} {what}: {until}")
}

/// What a rank did last that is in a call.
const ENTERED: &str = "entered";

/// Where these ranks were last seen, by place: in a call, or after one.
fn last_places(profile: &Profile, ranks: &[&RankProfile]) -> Vec<String> {
    let mut places: Vec<(String, &str, f64, Vec<u32>)> = Vec::new();
    for rank in ranks {
        let Some(call) = &rank.last_call else { continue };
        let site = call.site.and_then(|site| profile.sites.get(site as usize));
        let site = site.map_or(String::new(), |site| format!(" at {site}"));
        let (place, verb, at) = match call.returned_s {
            None => (format!("in {}{site}", call.function), ENTERED, call.entered_s),
            Some(returned) => (format!("after {}{site}", call.function), "left", returned),
        };
        match places.iter_mut().find(|(known, ..)| *known == place) {
            Some((_, _, first, who)) => {
                *first = first.min(at);
                who.push(rank.rank);
            }
            None => places.push((place, verb, at, vec![rank.rank])),
        }
    }
    places.sort_by_key(|(.., who)| std::cmp::Reverse(who.len()));
    let more: usize = places.iter().skip(MOST_PLACES).map(|(.., who)| who.len()).sum();
    let sentence = |(place, verb, at, who): (String, &str, f64, Vec<u32>)| {
        let first = if who.len() > 1 { " by the first of them" } else { "" };
        let open = if verb == ENTERED { ", and not left since" } else { "" };
        Some(format!("{} last seen {place}, {verb} at {}{first}{open}", ranks_in_words(&who)?, duration(at)))
    };
    let mut sentences: Vec<String> = places.into_iter().take(MOST_PLACES).filter_map(sentence).collect();
    if more > 0 {
        sentences.push(format!("{more} ranks more were last seen elsewhere: --json has them"));
    }
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::CallSite;

    #[test]
    fn a_table_says_how_its_process_ended_or_nothing() {
        for ended in [Ended::Finalised, Ended::Aborted, Ended::Exited] {
            assert_eq!([true, false].map(|runs| Ended::of_table(ended.in_table(), runs)), [ended; 2]);
        }
        for (ended, runs) in [(Ended::Running, true), (Ended::Killed, false)] {
            assert_eq!((ended.in_table(), Ended::of_table(0, runs)), (0, ended));
        }
    }

    fn run(ranks: Vec<RankProfile>) -> Profile {
        Profile { world_size: ranks.len() as u32, ranks, ..Profile::default() }
    }

    fn rank(rank: u32, ended: Ended) -> RankProfile {
        RankProfile { rank, ended, ..RankProfile::default() }
    }

    #[test]
    fn how_ranks_ended_and_who_is_missing_is_said() {
        assert_eq!(sentences(&run(vec![rank(0, Ended::Finalised), rank(1, Ended::Finalised)])), [""; 0]);
        let mut profile =
            run(vec![rank(0, Ended::Finalised), rank(3, Ended::Killed), rank(4, Ended::Aborted)]);
        profile.world_size = 20;
        assert_eq!(
            sentences(&profile),
            [
                "rank 4 called MPI_Abort: the numbers end there",
                "rank 3 was killed: the numbers end there",
                "ranks 1, 2, 5 to 19 left no profile: they were killed before MPI_Init had returned, or their files are elsewhere"
            ]
        );
    }

    #[test]
    fn a_run_is_early_that_lacks_a_rank_or_the_end_of_one() {
        assert!(!is_early(&run(vec![rank(0, Ended::Finalised), rank(1, Ended::Running)])));
        for ended in [Ended::Aborted, Ended::Exited, Ended::Killed] {
            assert!(is_early(&run(vec![rank(0, Ended::Finalised), rank(1, ended)])));
        }
        let lacking = Profile { world_size: 3, ..run(vec![rank(0, Ended::Finalised)]) };
        assert!(is_early(&lacking));
    }

    #[test]
    fn where_killed_ranks_were_last_seen_is_said_by_place() {
        let mut profile = run((0..4).map(|number| rank(number, Ended::Killed)).collect());
        profile.started_unix_s = 1_700_000_000.0;
        profile.sites = vec![CallSite {
            file: "ring.c".into(),
            line: 45,
            function: "main".into(),
            ..CallSite::default()
        }];
        for (rank, returned_s) in profile.ranks.iter_mut().zip([None, Some(2.5), None, None]) {
            rank.last_seen_s = Some(3.0 + f64::from(rank.rank));
            let function = if returned_s.is_none() { "MPI_Recv" } else { "MPI_Send" }.to_owned();
            rank.last_call =
                Some(LastCall { function, site: Some(0), entered_s: 2.0, returned_s, ..LastCall::default() });
        }
        assert_eq!(
            sentences(&profile),
            [
                "ranks 0, 1, 2, 3 were killed: the numbers end there, last seen 6.00 s after MPI_Init (2023-11-14 22:13:26 UTC)",
                "ranks 0, 2, 3 last seen in MPI_Recv at ring.c:45 (main), entered at 2.00 s by the first of them, and not left since",
                "rank 1 last seen after MPI_Send at ring.c:45 (main), left at 2.50 s",
            ]
        );
        for (place, rank) in profile.ranks.iter_mut().enumerate() {
            rank.last_call.as_mut().unwrap().function = format!("MPI_F{place}");
        }
        profile
            .ranks
            .push(RankProfile { last_call: profile.ranks[0].last_call.clone(), ..rank(4, Ended::Killed) });
        profile.ranks.push(RankProfile {
            last_call: Some(LastCall { function: "MPI_G".into(), ..LastCall::default() }),
            ..rank(5, Ended::Killed)
        });
        profile.world_size = 6;
        assert!(sentences(&profile).last().unwrap().starts_with("1 ranks more"), "{:?}", sentences(&profile));
    }
}
