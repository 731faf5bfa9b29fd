//! How well the ranks are used: the efficiencies of POP (<https://co-design.pop-coe.eu/metrics>), of a run, of each phase and each region.
//!
//! Useful is the time outside of MPI. Of ranks with useful times u in a run that lasts T: parallel efficiency = mean(u) / T = load balance ×
//! communication efficiency; load balance = mean(u) / max(u); communication efficiency = max(u) / T = serialisation × transfer. What a
//! network without any cost would leave of T is T_ideal: serialisation = max(u) / T_ideal, transfer = T_ideal / T.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::columns::{RUN, TIME};
use super::counters::Counters;
use super::ends::Ended;
use super::quantities::budget::{BUDGET, COMPUTING};
use super::schema::{Profile, RankProfile};
use super::verdict::Basis;

/// Where more than this share of the time is from when it is not known what ranks did, there are no efficiencies.
const MOST_UNKNOWN: f64 = 0.02;

/// Efficiencies of some ranks in a time; each is from 0 to 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Efficiency {
    /// The share of the ranks' time that is outside of MPI: `load_balance` × `communication_efficiency`.
    pub parallel_efficiency: f64,
    /// The mean time outside of MPI as a share of the longest.
    pub load_balance: f64,
    /// The longest time outside of MPI as a share of the time that the run takes: `serialisation` × `transfer`, where these are known.
    pub communication_efficiency: f64,
    /// The longest time outside of MPI as a share of the time on an ideal network; absent where it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serialisation: Option<f64>,
    /// The time on an ideal network as a share of the time that the run takes; absent where it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfer: Option<f64>,
    /// How many ranks are in it.
    pub ranks: u32,
    /// How long it takes, in seconds: the longest time of a rank.
    pub run_s: f64,
    /// The mean time outside of MPI, in seconds.
    pub mean_computing_s: f64,
    /// The longest time outside of MPI, in seconds.
    pub max_computing_s: f64,
    /// The rank that is outside of MPI longest.
    pub busiest_rank: u32,
    /// The call for which others wait for that rank most, where the verdict has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busiest_site: Option<String>,
    /// How long it would take on an ideal network, in seconds; absent where it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ideal_s: Option<f64>,
    /// Whether that is estimated, from single waits, or exact, from each call of a trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ideal_basis: Option<Basis>,
    /// What the processors counted of the time outside of MPI, all ranks together; absent where they have no counters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counters: Option<Counters>,
}

/// Those of a run, of each of its phases, and of each region of the program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Efficiencies {
    /// Of the run.
    #[serde(flatten)]
    pub whole: Efficiency,
    /// Of each phase in which there is time outside of MPI, in the order of the profile's `phases`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<OfPhase>,
    /// Of each region in which there is time outside of MPI, by path; the first is what is in none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub regions: Vec<OfRegion>,
}

impl From<Efficiency> for Efficiencies {
    fn from(whole: Efficiency) -> Efficiencies {
        Efficiencies { whole, ..Efficiencies::default() }
    }
}

/// Those of a region, with all that lies in it: of the ranks that were in it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct OfRegion {
    /// The region, as a path of names; empty for what is in none.
    pub region: String,
    /// Its efficiencies.
    #[serde(flatten)]
    pub of: Efficiency,
}

/// Those of a phase: of the ranks that were in it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct OfPhase {
    /// The phase, as a place in the profile's `phases`.
    pub phase: u32,
    /// Its efficiencies.
    #[serde(flatten)]
    pub of: Efficiency,
}

impl Efficiency {
    /// Of ranks that were outside of MPI so long, in seconds, in a time of `run_s`; none where nobody was.
    #[must_use]
    pub fn of(useful: impl IntoIterator<Item = (u32, f64)>, run_s: f64) -> Option<Efficiency> {
        let (mut ranks, mut sum, mut most) = (0u32, 0.0, (0u32, 0.0f64));
        for (rank, seconds) in useful {
            ranks += 1;
            sum += seconds;
            if seconds > most.1 {
                most = (rank, seconds);
            }
        }
        Efficiency::of_sums(ranks, sum, most, run_s)
    }

    /// Efficiencies from a sum over ranks, their number, and the rank that was outside of MPI longest.
    fn of_sums(ranks: u32, sum: f64, (busiest, most): (u32, f64), run_s: f64) -> Option<Efficiency> {
        if ranks == 0 || most <= 0.0 || run_s <= 0.0 || !(sum + run_s).is_finite() {
            return None;
        }
        // Clocks that differ do not make anybody better than perfect.
        let run_s = run_s.max(most);
        let mean = sum / f64::from(ranks);
        Some(Efficiency {
            parallel_efficiency: mean / run_s,
            load_balance: mean / most,
            communication_efficiency: most / run_s,
            ranks,
            run_s,
            mean_computing_s: mean,
            max_computing_s: most,
            busiest_rank: busiest,
            ..Efficiency::default()
        })
    }

    /// With the time on an ideal network, in seconds, and how that is known.
    #[must_use]
    pub fn with_ideal(self, ideal_s: f64, basis: Basis) -> Efficiency {
        let ideal_s = ideal_s.clamp(self.max_computing_s, self.run_s);
        Efficiency {
            serialisation: Some(self.max_computing_s / ideal_s),
            transfer: Some(ideal_s / self.run_s),
            ideal_s: Some(ideal_s),
            ideal_basis: Some(basis),
            ..self
        }
    }
}

/// The efficiencies of what a profile has; none where calls were not counted, and where it is not known what ranks did at the end.
#[must_use]
pub fn of(profile: &Profile) -> Option<Efficiencies> {
    let mut whole = match &profile.reduced {
        Some(reduced) => {
            let known = reduced.ended.iter().all(|of| of.ended != Ended::Killed);
            let computing = reduced.over(BUDGET[0].group, COMPUTING).filter(|_| known)?;
            let run_s = reduced.over(TIME, RUN)?.max()?.1;
            Efficiency::of_sums(computing.ranks, computing.sum, computing.max()?, run_s)?
        }
        None => of_ranks(profile)?,
    };
    whole.busiest_site = site_of(profile, whole.busiest_rank);
    whole.counters = Counters::sum(profile.ranks.iter().filter_map(|rank| rank.counters));
    let phases = (0..profile.phases.len() as u32).filter_map(|phase| {
        let of = |rank: &RankProfile| {
            let known = rank.phases.iter().find(|known| known.phase == phase)?;
            let (computing_s, run_s, counters) = (known.computing_s?, known.run_s, known.counters);
            Some(Share { rank: rank.rank, computing_s, run_s, counters }).filter(|of| of.run_s > 0.0)
        };
        let ranks: Vec<Share> = profile.ranks.iter().filter_map(of).collect();
        Some(OfPhase { phase, of: of_part(&ranks)? })
    });
    let phases = phases.collect();
    Some(Efficiencies { whole, phases, regions: of_regions(profile) })
}

/// What a rank has of a part of the run: how long it was outside of MPI, and altogether, in seconds.
struct Share {
    rank: u32,
    computing_s: f64,
    run_s: f64,
    counters: Option<Counters>,
}

/// Of a part of the run, of which these ranks have these shares.
fn of_part(ranks: &[Share]) -> Option<Efficiency> {
    let run_s = ranks.iter().map(|of| of.run_s).fold(0.0, f64::max);
    let counters = Counters::sum(ranks.iter().filter_map(|of| of.counters));
    let of = Efficiency::of(ranks.iter().map(|of| (of.rank, of.computing_s)), run_s)?;
    Some(Efficiency { counters, ..of })
}

/// The order of paths in which each region comes right before those in it.
#[must_use]
pub fn nested(a: &str, b: &str) -> Ordering {
    a.split('/').cmp(b.split('/'))
}

/// Of the regions, by path.
fn of_regions(profile: &Profile) -> Vec<OfRegion> {
    let mut regions: BTreeMap<&str, Vec<Share>> = BTreeMap::new();
    for rank in &profile.ranks {
        for of in rank.regions.iter().filter(|of| of.run_s > 0.0) {
            let share = Share {
                rank: rank.rank,
                computing_s: of.computing_s,
                run_s: of.run_s,
                counters: of.counters,
            };
            regions.entry(&of.region).or_default().push(share);
        }
    }
    let of_region = |(region, ranks): (&str, Vec<Share>)| {
        Some(OfRegion { region: region.to_owned(), of: of_part(&ranks)? })
    };
    let mut regions: Vec<OfRegion> = regions.into_iter().filter_map(of_region).collect();
    regions.sort_by(|a, b| nested(&a.region, &b.region));
    regions
}

/// Of ranks that are known one by one.
fn of_ranks(profile: &Profile) -> Option<Efficiency> {
    let run_s = profile.ranks.iter().map(|rank| rank.run_s).fold(0.0, f64::max);
    let all_s: f64 = profile.ranks.iter().map(|rank| rank.run_s).sum();
    let unknown: f64 = profile.ranks.iter().map(unknown_s).sum();
    let useful = profile.ranks.iter().map(|rank| Some((rank.rank, rank.budget?.computing_s)));
    let useful: Option<Vec<(u32, f64)>> = useful.collect();
    Efficiency::of(useful?, run_s).filter(|_| unknown <= MOST_UNKNOWN * all_s)
}

/// For how long it is not known whether a rank that was killed computed, in seconds: from when it was seen last, unless it was in a call then.
fn unknown_s(rank: &RankProfile) -> f64 {
    let is_in_call = rank.last_call.as_ref().is_some_and(|call| call.returned_s.is_none());
    match rank.last_seen_s {
        Some(seen) if rank.ended == Ended::Killed && !is_in_call => {
            (rank.init_s + rank.run_s - seen).max(0.0)
        }
        _ => 0.0,
    }
}

/// The call for which others wait for a rank most, as the verdict has it.
fn site_of(profile: &Profile, rank: u32) -> Option<String> {
    let finding = profile.verdict.iter().flatten().find(|finding| finding.cause_rank == Some(rank))?;
    finding.cause_site.clone()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::budget::Parts;
    use crate::profile::{Finding, LastCall, PhaseProfile};

    /// Ranks that run for 10 s and are outside of MPI so long.
    fn run(computing: &[f64]) -> Profile {
        let rank = |(rank, computing_s): (u32, &f64)| RankProfile {
            rank,
            run_s: 10.0,
            budget: Some(Parts { total_s: 10.0, computing_s: *computing_s, ..Parts::default() }),
            ..RankProfile::default()
        };
        Profile { ranks: (0..).zip(computing).map(rank).collect(), ..Profile::default() }
    }

    #[test]
    fn efficiencies_are_those_of_pop() {
        let mut profile = run(&[4.0, 8.0, 6.0, 6.0]);
        profile.verdict = Some(vec![Finding {
            cause_rank: Some(1),
            cause_site: Some("app.c:7 (main)".into()),
            ..Finding::default()
        }]);
        let Efficiencies { whole, phases, regions } = of(&profile).unwrap();
        assert_eq!(regions, []);
        let Efficiency { parallel_efficiency, load_balance, communication_efficiency, .. } = whole;
        assert_eq!((parallel_efficiency, load_balance, communication_efficiency), (0.6, 0.75, 0.8));
        assert_eq!((whole.busiest_rank, whole.busiest_site.as_deref()), (1, Some("app.c:7 (main)")));
        assert_eq!((whole.serialisation, whole.transfer, whole.ranks, phases.len()), (None, None, 4, 0));
        let ideal = whole.with_ideal(9.0, Basis::Exact);
        assert_eq!((ideal.serialisation, ideal.transfer), (Some(8.0 / 9.0), Some(0.9)));
        let product = ideal.serialisation.unwrap() * ideal.transfer.unwrap();
        assert!((product - ideal.communication_efficiency).abs() < 1e-12);
    }

    #[test]
    fn none_is_above_one() {
        let whole = Efficiency::of([(0, 10.001), (1, 10.0)], 10.0).unwrap();
        assert_eq!(whole.communication_efficiency, 1.0);
        assert!(whole.parallel_efficiency <= 1.0 && whole.load_balance <= 1.0);
        let ideal = whole.with_ideal(11.0, Basis::Exact);
        assert_eq!((ideal.serialisation, ideal.transfer), (Some(1.0), Some(1.0)));
    }

    #[test]
    fn without_time_there_is_none() {
        assert_eq!(of(&Profile::default()), None);
        assert_eq!(of(&run(&[0.0, 0.0])), None);
        let mut unknown = run(&[1.0, 2.0]);
        unknown.ranks[1].budget = None;
        assert_eq!(of(&unknown), None, "one that was not counted may be the busiest");
    }

    #[test]
    fn a_killed_rank_counts_where_it_is_known_what_it_did() {
        let mut profile = run(&[4.0, 8.0]);
        profile.ranks[1].ended = Ended::Killed;
        profile.ranks[1].last_seen_s = Some(5.0);
        assert_eq!(of(&profile), None, "for 5 s nobody knows");
        profile.ranks[1].last_call = Some(LastCall { entered_s: 5.0, ..LastCall::default() });
        assert_eq!(of(&profile).unwrap().whole.load_balance, 0.75, "it was in a call");
        profile.ranks[1].last_call = None;
        profile.ranks[1].last_seen_s = Some(9.9);
        assert_eq!(of(&profile).unwrap().whole.load_balance, 0.75);
    }

    #[test]
    fn a_phase_has_those_of_the_ranks_that_were_in_it() {
        let mut profile = run(&[4.0, 8.0, 6.0]);
        profile.phases = vec![String::new(), "solve".into()];
        let phase = |computing_s| PhaseProfile {
            phase: 1,
            run_s: 4.0,
            computing_s: Some(computing_s),
            ..PhaseProfile::default()
        };
        profile.ranks[0].phases = vec![phase(1.0)];
        profile.ranks[1].phases = vec![phase(2.0)];
        let phases = of(&profile).unwrap().phases;
        assert_eq!((phases.len(), phases[0].phase, phases[0].of.ranks), (1, 1, 2));
        assert_eq!((phases[0].of.parallel_efficiency, phases[0].of.load_balance), (0.375, 0.75));
    }
}
