//! Which processors ranks may use, and how long they had none; what the operating system counted of a process between `MPI_Init` and
//! `MPI_Finalize`.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::schema::{Profile, RankProfile};
use super::sums::{run_s, share};
use super::text::layout::percent;
use super::why::{by_quota, only_processor};
use crate::{Definition, Members};

/// From this share of the time of all ranks without a processor on it is worth a word.
const MUCH: f64 = 0.1;

/// A rank that had none for this share of its time, and the others for a third of that or less, is named.
const MUCH_OF_ONE: f64 = 0.2;

/// What a rank knows of processors.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Processors {
    /// The numbers of those that its thread might use at `MPI_Init`, as `[first, count, stride]`.
    pub allowed: Members,
    /// How many its control group may use at a time; absent where there is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quota: Option<f64>,
    /// How many the host has; absent where that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub online: Option<u32>,
    /// How long the thread that called `MPI_Finalize` has used one since `MPI_Init`, in seconds; absent where that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used_s: Option<f64>,
    /// How long it could have run and had none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waited_s: Option<f64>,
}

impl Processors {
    /// What the definitions of a table say.
    #[must_use]
    pub fn of(definitions: &[Definition]) -> Option<Processors> {
        let mut found = definitions.iter().find_map(|definition| match definition {
            Definition::Processors { allowed, quota, online } => Some(Processors {
                allowed: allowed.clone(),
                quota: *quota,
                online: Some(*online).filter(|online| *online > 0),
                ..Processors::default()
            }),
            _ => None,
        })?;
        let mut readings = definitions.iter().filter_map(|definition| match definition {
            Definition::Scheduled { used_nanos, waited_nanos } => Some((*used_nanos, *waited_nanos)),
            _ => None,
        });
        if let (Some(first), Some(last)) = (readings.next(), readings.next_back()) {
            let since = |first: u64, last: u64| Some(last.saturating_sub(first) as f64 * 1e-9);
            (found.used_s, found.waited_s) = (since(first.0, last.0), since(first.1, last.1));
        }
        Some(found)
    }
}

/// That ranks had no processor, in a sentence; nothing where they had.
#[must_use]
pub fn sentence(profile: &Profile) -> Option<String> {
    let mut hosts: BTreeMap<&str, (u32, BTreeSet<i32>, Vec<f64>)> = BTreeMap::new();
    let (mut waited, mut all) = (0.0, 0.0);
    for rank in &profile.ranks {
        let processors = rank.processors.as_ref()?;
        let (ranks, allowed, quotas) = hosts.entry(&rank.host).or_default();
        *ranks += 1;
        allowed.extend(processors.allowed.ranks());
        quotas.push(processors.quota.unwrap_or(f64::INFINITY));
        waited += processors.waited_s.unwrap_or(0.0);
        all += run_s(profile, rank);
    }
    let share = share(waited, all);
    let most = |(ranks, allowed, quotas): &(u32, BTreeSet<i32>, Vec<f64>)| {
        // Ranks with different quotas are not in one group.
        let quota = quotas.first().copied().filter(|first| quotas.iter().all(|of| of == first));
        let processors = quota.unwrap_or(f64::INFINITY).min(allowed.len() as f64);
        (f64::from(*ranks) / processors.max(0.01), *ranks, processors)
    };
    let (_, ranks, processors) = hosts.values().map(most).max_by(|a, b| a.0.total_cmp(&b.0))?;
    let time = format!("{} of the time the ranks had no processor", percent(share));
    let number =
        if processors.fract() == 0.0 { format!("{processors:.0}") } else { format!("{processors:.1}") };
    let plural = if processors == 1.0 { "" } else { "s" };
    if f64::from(ranks) > processors {
        let on = if hosts.len() > 1 { " of a host" } else { "" };
        let online =
            profile.ranks.iter().filter_map(|rank| rank.processors.as_ref()?.online).min().unwrap_or(0);
        let more = match f64::from(online) > processors {
            true => format!(
                "; {} {online}: start the ranks with more of them (--bind-to core, or a larger cpuset or quota)",
                if hosts.len() > 1 { "hosts have" } else { "the host has" }
            ),
            false => String::new(),
        };
        return Some(format!("{ranks} ranks on {number} processor{plural}{on}: {time}{more}"));
    }
    one_without(profile)
        .or_else(|| (share >= MUCH).then(|| format!("{time}: other processes or threads use them")))
}

/// The rank that had no processor for much longer than the others, in a sentence.
fn one_without(profile: &Profile) -> Option<String> {
    let share_of =
        |rank: &RankProfile| Some(share(rank.processors.as_ref()?.waited_s?, run_s(profile, rank)));
    let mut shares: Vec<(f64, &RankProfile)> =
        profile.ranks.iter().filter_map(|rank| Some((share_of(rank)?, rank))).collect();
    shares.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (most, rank) = *shares.last()?;
    let usual = shares.get(shares.len().checked_sub(1)? / 2)?.0;
    if most < MUCH_OF_ONE || most < 3.0 * usual {
        return None;
    }
    let others: Vec<&RankProfile> = profile.ranks.iter().filter(|other| other.rank != rank.rank).collect();
    let waited_s = rank.processors.as_ref()?.waited_s?;
    let its = by_quota(rank, &others, waited_s).or_else(|| only_processor(rank, &others));
    let its = its.unwrap_or_else(|| ": other processes or threads use them".into());
    Some(format!(
        "rank {} had no processor for {} of its time (the others {}){its}",
        rank.rank,
        percent(most),
        percent(usual)
    ))
}

/// Of all threads of a rank. Numbers that the system does not tell are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Resources {
    /// Time on a processor in the program's own code and in libraries, in seconds.
    pub user_s: f64,
    /// Time on a processor in the operating system, in seconds.
    pub system_s: f64,
    /// How long the quota of its control group stopped the processes in it, in seconds.
    pub throttled_s: f64,
    /// Pages that were not in memory.
    pub page_faults: u64,
    /// Those of them that were read from a disk.
    pub disk_faults: u64,
    /// Bytes that it has asked for from files, pipes and sockets.
    pub read_bytes: u64,
    /// Bytes that it has written to them.
    pub written_bytes: u64,
}

impl Resources {
    /// The difference of the two readings in the definitions of a table; none where there are not two.
    #[must_use]
    pub fn of(definitions: &[Definition]) -> Option<Resources> {
        let mut readings = definitions.iter().filter_map(|definition| match definition {
            Definition::Resources { counted } => Some(counted),
            _ => None,
        });
        let (first, last) = (readings.next()?, readings.next_back()?);
        Some(Resources {
            user_s: (last.user_s - first.user_s).max(0.0),
            system_s: (last.system_s - first.system_s).max(0.0),
            throttled_s: (last.throttled_s - first.throttled_s).max(0.0),
            page_faults: last.page_faults.saturating_sub(first.page_faults),
            disk_faults: last.disk_faults.saturating_sub(first.disk_faults),
            read_bytes: last.read_bytes.saturating_sub(first.read_bytes),
            written_bytes: last.written_bytes.saturating_sub(first.written_bytes),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::RankProfile;

    fn rank(rank: u32, allowed: &[i32], waited_s: f64) -> RankProfile {
        let processors = Processors {
            allowed: Members::from_ranks(allowed.iter().copied()),
            waited_s: Some(waited_s),
            ..Processors::default()
        };
        RankProfile { rank, run_s: 1.0, processors: Some(processors), ..RankProfile::default() }
    }

    #[test]
    fn more_ranks_than_processors_are_told() {
        let profile =
            Profile { ranks: (0..4).map(|of| rank(of, &[0, 1], 0.61)).collect(), ..Profile::default() };
        let said = sentence(&profile).unwrap();
        assert_eq!(said, "4 ranks on 2 processors: 61.0 % of the time the ranks had no processor");
        let bound =
            Profile { ranks: (0..4).map(|of| rank(of, &[of as i32], 0.0)).collect(), ..Profile::default() };
        assert_eq!(sentence(&bound), None);
        let mut busy = bound;
        busy.ranks.iter_mut().for_each(|rank| rank.processors.as_mut().unwrap().waited_s = Some(0.5));
        assert!(sentence(&busy).unwrap().starts_with("50.0 % of the time the ranks had no processor: other"));
        busy.ranks[0].processors.as_mut().unwrap().quota = Some(1.5);
        assert!(sentence(&busy).unwrap().starts_with("50.0 %"), "the others are in another group");
        busy.ranks.iter_mut().for_each(|rank| rank.processors.as_mut().unwrap().quota = Some(1.5));
        assert!(sentence(&busy).unwrap().starts_with("4 ranks on 1.5 processors: "));
    }

    #[test]
    fn what_was_before_mpi_init_does_not_count() {
        let scheduled = |used_nanos, waited_nanos| Definition::Scheduled { used_nanos, waited_nanos };
        let allowed = Members::from_ranks([0, 1]);
        let definitions = [
            Definition::Processors { allowed, quota: None, online: 2 },
            scheduled(5, 1_000_000_000),
            scheduled(9, 3_000_000_000),
        ];
        let found = Processors::of(&definitions).unwrap();
        assert_eq!((found.allowed.len(), found.waited_s), (2, Some(2.0)));
        assert_eq!(Processors::of(&definitions[..2]).unwrap().waited_s, None, "it was killed");
        assert_eq!(Processors::of(&[]), None);
    }
}
