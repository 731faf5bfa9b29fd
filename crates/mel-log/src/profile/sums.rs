//! The calls of a profile added up: by rank, by function, by call site; and who waited for whom.
//!
//! Times are in seconds, of all threads of a rank together. `MPI_Init`, `MPI_Init_thread` and `MPI_Finalize` are left out: shares are
//! of the time between them.

use std::collections::HashMap;

use mpi_functions::Kind;

use super::calls::{CallProfile, MessagesFound, WaitKind};
use super::schema::{Profile, RankProfile};

/// What some calls did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sum {
    /// Number of calls.
    pub calls: u64,
    /// Time in them.
    pub total_s: f64,
    /// The longest.
    pub max_s: f64,
    /// Bytes that they have sent.
    pub bytes_sent: u64,
    /// Bytes of the messages that they have received.
    pub bytes_received: u64,
    /// Of collective operations: bytes of the data as the program gives it.
    pub bytes_given: u64,
    /// What the receives posted there found in the queues.
    pub messages: MessagesFound,
    /// The part of the time that was lost waiting; estimated.
    pub lost_s: f64,
}

impl Sum {
    /// The bytes of a message, as the program means it: count times type; of messages what is sent and received. 0 without calls.
    pub fn mean_bytes(&self) -> f64 {
        let bytes = match self.bytes_given {
            0 => self.bytes_sent as f64 + self.bytes_received as f64,
            given => given as f64,
        };
        if self.calls == 0 { 0.0 } else { bytes / self.calls as f64 }
    }

    /// Adds calls of one context.
    pub(super) fn add(&mut self, call: &CallProfile) {
        self.join(&Sum {
            calls: call.calls,
            total_s: call.total_s,
            max_s: call.max_s,
            bytes_sent: call.bytes_sent,
            bytes_received: call.bytes_received,
            bytes_given: call.bytes_given,
            messages: call.messages,
            lost_s: call.waits.iter().map(|wait| wait.lost_s).sum(),
        });
    }

    /// Adds other calls.
    pub fn join(&mut self, other: &Sum) {
        self.calls = self.calls.saturating_add(other.calls);
        self.total_s += other.total_s;
        self.max_s = self.max_s.max(other.max_s);
        self.bytes_sent = self.bytes_sent.saturating_add(other.bytes_sent);
        self.bytes_received = self.bytes_received.saturating_add(other.bytes_received);
        self.bytes_given = self.bytes_given.saturating_add(other.bytes_given);
        self.lost_s += other.lost_s;
        let (found, more) = (&mut self.messages, &other.messages);
        found.expected = found.expected.saturating_add(more.expected);
        found.unexpected = found.unexpected.saturating_add(more.unexpected);
        found.unexpected_bytes = found.unexpected_bytes.saturating_add(more.unexpected_bytes);
        found.search_s += more.search_s;
        found.longest_search_s = found.longest_search_s.max(more.longest_search_s);
    }
}

/// One MPI function of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OfFunction {
    /// Its name.
    pub function: String,
    /// On all ranks.
    pub sum: Sum,
    /// Time in it by rank, in the order of the profile's ranks; empty where there are very many.
    pub by_rank_s: Vec<f64>,
}

/// One call site of a run: all ranks, threads and communicators together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OfSite {
    /// `file:line (function)`; absent where it is not known.
    pub site: Option<String>,
    /// The MPI function.
    pub function: String,
    /// On all ranks.
    pub sum: Sum,
    /// Whom its calls waited for, and how long: the one that cost most first. Without a rank where it is not known.
    pub waited_for: Vec<(Option<u32>, f64)>,
}

/// Waits of one kind, at one call site, for one rank.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OfWaits {
    /// Why.
    pub kind: WaitKind,
    /// Whom they waited for; absent where it is not known.
    pub peer: Option<u32>,
    /// Where they waited.
    pub site: Option<String>,
    /// In which MPI function.
    pub function: String,
    /// The call of the peer that ended the waiting.
    pub peer_site: Option<String>,
    /// Who waited, and how long: the one that lost most first. Of very many ranks those that lost most.
    pub victims: Vec<(u32, f64)>,
    /// How many ranks waited.
    pub victims_all: usize,
    /// How often.
    pub count: u64,
    /// The time lost.
    pub lost_s: f64,
    /// The most in one call.
    pub max_s: f64,
}

/// Whether a function is part of what starts and ends MPI.
pub fn is_apart(function: &str) -> bool {
    matches!(Kind::of(function), Kind::Init | Kind::Finalize)
}

/// The calls of a rank between `MPI_Init` and `MPI_Finalize`.
pub fn calls(rank: &RankProfile) -> impl Iterator<Item = &CallProfile> {
    rank.calls.iter().filter(|call| !is_apart(&call.function))
}

/// The time of a rank between `MPI_Init` and `MPI_Finalize`; in profiles without it, the duration of the run.
pub fn run_s(profile: &Profile, rank: &RankProfile) -> f64 {
    if rank.run_s > 0.0 { rank.run_s } else { profile.duration_s }
}

/// The same of all ranks together: what the share of something in the run is a share of.
pub fn all_runs_s(profile: &Profile) -> f64 {
    if let Some(reduced) = &profile.reduced {
        return reduced.run_s;
    }
    profile.ranks.iter().map(|rank| run_s(profile, rank)).sum()
}

/// A share; 0 of nothing.
pub fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// What one rank did in MPI.
pub fn of_rank(rank: &RankProfile) -> Sum {
    let mut sum = Sum::default();
    calls(rank).for_each(|call| sum.add(call));
    sum
}

/// All of a run.
pub fn whole(profile: &Profile) -> Sum {
    if let Some(reduced) = &profile.reduced {
        return reduced.whole();
    }
    let mut sum = Sum::default();
    profile.ranks.iter().flat_map(calls).for_each(|call| sum.add(call));
    sum
}

/// The MPI functions, the one that took longest first.
pub fn by_function(profile: &Profile) -> Vec<OfFunction> {
    if let Some(reduced) = &profile.reduced {
        return reduced.by_function();
    }
    let mut functions: HashMap<&str, OfFunction> = HashMap::new();
    for (place, rank) in profile.ranks.iter().enumerate() {
        for call in calls(rank) {
            let entry = functions.entry(&call.function).or_insert_with(|| OfFunction {
                function: call.function.clone(),
                by_rank_s: vec![0.0; profile.ranks.len()],
                ..OfFunction::default()
            });
            entry.sum.add(call);
            entry.by_rank_s[place] += call.total_s;
        }
    }
    let mut functions: Vec<OfFunction> = functions.into_values().collect();
    functions
        .sort_by(|a, b| b.sum.total_s.total_cmp(&a.sum.total_s).then_with(|| a.function.cmp(&b.function)));
    functions
}

/// The call sites, the one that took longest first. Places of one line that call the same function are one.
pub fn by_site(profile: &Profile) -> Vec<OfSite> {
    if let Some(reduced) = &profile.reduced {
        return reduced.by_site(profile);
    }
    let names = Names::of(profile);
    let mut sites: HashMap<(Option<&str>, &str), OfSite> = HashMap::new();
    for call in profile.ranks.iter().flat_map(calls) {
        let site = names.name(call.site);
        let entry = sites.entry((site, &call.function)).or_insert_with(|| OfSite {
            site: site.map(str::to_owned),
            function: call.function.clone(),
            ..OfSite::default()
        });
        entry.sum.add(call);
        for wait in &call.waits {
            match entry.waited_for.iter_mut().find(|(peer, _)| *peer == wait.peer) {
                Some((_, lost_s)) => *lost_s += wait.lost_s,
                None => entry.waited_for.push((wait.peer, wait.lost_s)),
            }
        }
    }
    let mut sites: Vec<OfSite> = sites.into_values().collect();
    for site in &mut sites {
        site.waited_for.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    }
    sites.sort_by(|a, b| {
        let names = |site: &OfSite| (site.site.clone(), site.function.clone());
        b.sum.total_s.total_cmp(&a.sum.total_s).then_with(|| names(a).cmp(&names(b)))
    });
    sites
}

/// Who waited for whom, the waits that cost most first.
pub fn waits(profile: &Profile) -> Vec<OfWaits> {
    if let Some(reduced) = &profile.reduced {
        return reduced.of_waits(profile);
    }
    type Key<'a> = (WaitKind, Option<u32>, Option<&'a str>, &'a str, Option<&'a str>);
    let names = Names::of(profile);
    let mut waits: HashMap<Key<'_>, OfWaits> = HashMap::new();
    for rank in &profile.ranks {
        for call in calls(rank) {
            let site = names.name(call.site);
            for wait in &call.waits {
                let peer_site = names.name(wait.peer_site);
                let key = (wait.kind, wait.peer, site, &*call.function, peer_site);
                let entry = waits.entry(key).or_insert_with(|| OfWaits {
                    kind: wait.kind,
                    peer: wait.peer,
                    site: site.map(str::to_owned),
                    function: call.function.clone(),
                    peer_site: peer_site.map(str::to_owned),
                    ..OfWaits::default()
                });
                entry.count = entry.count.saturating_add(wait.count);
                entry.lost_s += wait.lost_s;
                entry.max_s = entry.max_s.max(wait.max_s);
                match entry.victims.last_mut() {
                    Some((victim, lost_s)) if *victim == rank.rank => *lost_s += wait.lost_s,
                    _ => entry.victims.push((rank.rank, wait.lost_s)),
                }
            }
        }
    }
    let mut waits: Vec<OfWaits> = waits.into_values().collect();
    for wait in &mut waits {
        wait.victims.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        wait.victims_all = wait.victims.len();
    }
    waits.sort_by(|a, b| {
        let names = |wait: &OfWaits| (wait.kind, wait.peer, wait.site.clone(), wait.peer_site.clone());
        b.lost_s.total_cmp(&a.lost_s).then_with(|| names(a).cmp(&names(b)))
    });
    waits
}

/// The call sites of a profile as text, by their places.
#[derive(Clone, Debug)]
pub struct Names(Vec<String>);

impl Names {
    /// Those of a profile.
    pub fn of(profile: &Profile) -> Names {
        Names(profile.sites.iter().map(ToString::to_string).collect())
    }

    /// `file:line (function)`; none where it is not known.
    pub fn name(&self, place: Option<u32>) -> Option<&str> {
        self.0.get(place? as usize).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::sample;

    #[test]
    fn sums_are_the_same_whatever_they_are_by() {
        let profile = sample::late_rank(5, 2);
        let all = whole(&profile).total_s;
        let close = |sum: f64| assert!((sum - all).abs() < 1e-9, "{sum} is not {all}");
        close(profile.ranks.iter().map(|rank| of_rank(rank).total_s).sum());
        close(by_function(&profile).iter().map(|entry| entry.sum.total_s).sum());
        close(by_function(&profile).iter().flat_map(|entry| &entry.by_rank_s).sum());
        close(by_site(&profile).iter().map(|entry| entry.sum.total_s).sum());
        let lost: f64 = waits(&profile).iter().map(|wait| wait.lost_s).sum();
        assert!((lost - whole(&profile).lost_s).abs() < 1e-9);
        let of_victims: f64 = waits(&profile).iter().flat_map(|wait| &wait.victims).map(|one| one.1).sum();
        assert!((lost - of_victims).abs() < 1e-9);
        assert_eq!(profile.ranks.iter().map(|rank| of_rank(rank).calls).sum::<u64>(), whole(&profile).calls);
    }

    #[test]
    fn what_starts_and_ends_mpi_is_apart() {
        let mut profile = sample::late_rank(4, 1);
        let before = whole(&profile);
        let init =
            CallProfile { function: "MPI_Init".into(), calls: 1, total_s: 9.0, ..CallProfile::default() };
        profile.ranks[0].calls.push(init);
        assert_eq!(whole(&profile), before);
    }

    #[test]
    fn lines_of_several_places_are_one() {
        let mut profile = sample::late_rank(4, 1);
        let sites = by_site(&profile).len();
        // The same line, inlined at another place.
        let copy = profile.sites[0].clone();
        profile.sites.push(crate::profile::CallSite { offset: 0x9999, ..copy });
        let mut call = profile.ranks[0].calls.iter().find(|call| call.site == Some(0)).cloned().unwrap();
        call.site = Some(profile.sites.len() as u32 - 1);
        profile.ranks[0].calls.push(call);
        assert_eq!(by_site(&profile).len(), sites);
        assert_eq!(by_site(&Profile::default()), []);
    }

    #[test]
    fn the_worst_comes_first() {
        let profile = sample::late_rank(4, 1);
        let worst = &waits(&profile)[0];
        assert_eq!((worst.kind, worst.peer), (WaitKind::LateSender, Some(1)));
        assert_eq!(worst.site.as_deref(), Some("halo.c:44 (exchange)"));
        assert_eq!(worst.peer_site.as_deref(), Some("halo.c:40 (exchange)"));
        assert_eq!(by_function(&profile)[0].function, "MPI_Waitall");
        assert_eq!(by_site(&profile)[0].waited_for[0].0, Some(1));
    }
}
