//! How a program scales, from profiles of runs of several sizes.
//!
//! - [`Study`]: the efficiencies of each size (POP's; parallel efficiency × computation scalability = global efficiency), and for what the
//!   time of a rank goes, each with a [`Model`] of how it grows with the number of ranks.
//! - [`text`]: the same for a terminal.
//! - [`page`]: as a page with figures, and with those of earlier studies.
//! - [`history`]: studies of one program, one after the other.

pub mod history;
pub mod model;
pub mod page;
pub mod text;

use std::collections::{BTreeMap, BTreeSet};

use mel_log::profile::Profile;
use mel_log::profile::sums::{by_site, is_apart};
use serde::Serialize;

use model::{Model, Term};

/// What takes less than this share of a rank's time at every size is not modelled.
const LEAST_SHARE: f64 = 0.01;
/// It is asked which part takes most of the time of up to this number of ranks.
const FARTHEST: f64 = 1e7;
/// Runs whose ranks together compute this much longer at the largest size than at the smallest, per time the number of ranks grows, have
/// a problem that grows with it.
const WEAK: f64 = 0.5;

/// Which part of the work grows with the number of ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scaling {
    /// None: all ranks together have the same to compute.
    Strong,
    /// All: each rank has the same to compute.
    Weak,
}

/// Runs of one size; the mean of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Size {
    /// How many ranks.
    pub ranks: u32,
    /// How many runs.
    pub runs: u32,
    /// From `MPI_Init` to `MPI_Finalize`, of the rank that takes longest, in seconds.
    pub run_s: f64,
    /// The time outside of MPI of all ranks together, in seconds.
    pub computing_s: f64,
    /// How many times faster it is than the smallest size; where the problem grows, how many times more it does in the same time.
    pub speedup: f64,
    /// `parallel_efficiency` × `computation_scalability`.
    pub global_efficiency: f64,
    /// `load_balance` × `communication_efficiency`.
    pub parallel_efficiency: f64,
    /// The mean time outside of MPI as a share of the longest.
    pub load_balance: f64,
    /// The longest time outside of MPI as a share of the run.
    pub communication_efficiency: f64,
    /// The serialisation, of runs with a trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serialisation: Option<f64>,
    /// The transfer, of runs with a trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfer: Option<f64>,
    /// What all ranks together compute at the smallest size as a share of what they compute here; where the problem grows, of each rank.
    /// Above 1 where ranks get faster with less data.
    pub computation_scalability: f64,
}

/// For what the time of a rank goes: the mean over ranks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    /// `computing`, `phase NAME`, or a call site as `file:line (function) MPI_Function`.
    pub name: String,
    /// Whether it contains others: a phase has computing and calls in it.
    pub is_phase: bool,
    /// Seconds of a rank by the number of ranks.
    pub seconds: Vec<(u32, f64)>,
    /// How it grows; absent with fewer than three sizes, and where no term fits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Model>,
    /// From how many ranks on it takes more than anything else by these models; absent where it never does, up to ten million ranks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dominates_from: Option<u64>,
}

/// Runs of a program on several numbers of ranks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Study {
    /// The program.
    pub program: String,
    /// The MPI libraries.
    pub mpis: Vec<String>,
    /// When the last run was started, in seconds since 1970.
    pub started_unix_s: f64,
    /// Whether the problem grows with the number of ranks.
    pub scaling: Scaling,
    /// By the number of ranks.
    pub sizes: Vec<Size>,
    /// What takes most at the largest size comes first.
    pub parts: Vec<Part>,
}

/// What of a run is looked at.
struct Run {
    ranks: u32,
    size: Size,
    /// Seconds of a rank by name, and whether that is a phase.
    parts: BTreeMap<(bool, String), f64>,
}

impl Study {
    /// Of profiles that have efficiencies; `scaling` where the user knows it.
    ///
    /// # Errors
    /// A sentence with the remedy: there are fewer than two sizes, runs are of different programs, or calls were not counted in one of them.
    pub fn of(profiles: &[(String, Profile)], scaling: Option<Scaling>) -> Result<Study, String> {
        let program = |profile: &Profile| {
            let command = profile.command.first().map_or("", String::as_str);
            command.rsplit('/').next().unwrap_or_default().to_owned()
        };
        let programs: BTreeSet<String> = profiles.iter().map(|(_, profile)| program(profile)).collect();
        if programs.len() > 1 {
            let names: Vec<String> = programs.into_iter().collect();
            return Err(format!("these are runs of different programs: {}", names.join(", ")));
        }
        let runs: Vec<Run> =
            profiles.iter().map(|(name, profile)| run(name, profile)).collect::<Result<_, _>>()?;
        let all: BTreeSet<u32> = runs.iter().map(|run| run.ranks).collect();
        if all.len() < 2 {
            return Err(
                "all runs are of one size: measure with another number of ranks, too (mel diff compares \
                        runs of one size)"
                    .into(),
            );
        }
        let mut sizes: Vec<Size> = all.iter().map(|ranks| mean(&runs, *ranks)).collect();
        let (first, last) = (sizes[0], sizes[sizes.len() - 1]);
        let grown = last.computing_s / first.computing_s - 1.0;
        let is_weak = grown > WEAK * (f64::from(last.ranks) / f64::from(first.ranks) - 1.0);
        let scaling = scaling.unwrap_or(if is_weak { Scaling::Weak } else { Scaling::Strong });
        for size in &mut sizes {
            let times = f64::from(size.ranks) / f64::from(first.ranks);
            let work = if scaling == Scaling::Weak { times } else { 1.0 };
            size.speedup = work * first.run_s / size.run_s;
            size.computation_scalability = work * first.computing_s / size.computing_s;
            size.global_efficiency = size.parallel_efficiency * size.computation_scalability;
        }
        let mut parts = parts(&runs, &sizes);
        dominate(&mut parts, f64::from(first.ranks));
        let latest = |started: f64, (_, profile): &(String, Profile)| started.max(profile.started_unix_s);
        Ok(Study {
            program: programs.into_iter().next().unwrap_or_default(),
            mpis: profiles.iter().map(|(_, of)| of.mpi_name()).collect::<BTreeSet<_>>().into_iter().collect(),
            started_unix_s: profiles.iter().fold(0.0, latest),
            scaling,
            sizes,
            parts,
        })
    }

    /// What grows and comes to take more than anything else at more ranks than were measured, the one that does so first coming first.
    pub fn threats(&self) -> impl Iterator<Item = (&Part, &Model)> {
        let growing = |part: &&Part| part.model.is_some_and(|model| model.term.grows());
        let mut threats: Vec<&Part> = self
            .parts
            .iter()
            .filter(|part| !part.is_phase && part.name != COMPUTING && part.dominates_from.is_some())
            .filter(growing)
            .collect();
        threats.sort_by_key(|part| part.dominates_from);
        threats.into_iter().filter_map(|part| Some((part, part.model.as_ref()?)))
    }

    /// The largest number of ranks that was measured.
    #[must_use]
    pub fn largest(&self) -> u32 {
        self.sizes.last().map_or(0, |size| size.ranks)
    }
}

/// The name of the time outside of MPI.
pub const COMPUTING: &str = "computing";

fn run(name: &str, profile: &Profile) -> Result<Run, String> {
    let Some(all) = &profile.efficiency else {
        return Err(format!(
            "{name} has no efficiencies: calls were not counted, or ranks were killed; measure again with mel run"
        ));
    };
    let of = &all.whole;
    let ranks = of.ranks;
    let mut parts = BTreeMap::from([((false, COMPUTING.to_owned()), of.mean_computing_s)]);
    for site in by_site(profile).iter().filter(|site| !is_apart(&site.function)) {
        let place = site.site.as_deref().unwrap_or("not known");
        let seconds = parts.entry((false, format!("{place} {}", site.function))).or_default();
        *seconds += site.sum.total_s / f64::from(ranks);
    }
    for phase in &all.phases {
        let name = profile.phases.get(phase.phase as usize).filter(|name| !name.is_empty());
        if let Some(name) = name {
            *parts.entry((true, format!("phase {name}"))).or_default() += phase.of.run_s;
        }
    }
    let size = Size {
        ranks,
        runs: 1,
        run_s: of.run_s,
        computing_s: of.mean_computing_s * f64::from(ranks),
        parallel_efficiency: of.parallel_efficiency,
        load_balance: of.load_balance,
        communication_efficiency: of.communication_efficiency,
        serialisation: of.serialisation,
        transfer: of.transfer,
        ..Size::default()
    };
    Ok(Run { ranks, size, parts })
}

/// The mean of all runs of a size.
fn mean(runs: &[Run], ranks: u32) -> Size {
    let of_size: Vec<&Size> = runs.iter().filter(|run| run.ranks == ranks).map(|run| &run.size).collect();
    let count = of_size.len().max(1) as f64;
    let mean = |of: fn(&Size) -> f64| of_size.iter().map(|size| of(size)).sum::<f64>() / count;
    let known = |of: fn(&Size) -> Option<f64>| {
        let all: Option<Vec<f64>> = of_size.iter().map(|size| of(size)).collect();
        all.map(|all| all.iter().sum::<f64>() / count)
    };
    Size {
        ranks,
        runs: of_size.len() as u32,
        run_s: mean(|of| of.run_s),
        computing_s: mean(|of| of.computing_s),
        parallel_efficiency: mean(|of| of.parallel_efficiency),
        load_balance: mean(|of| of.load_balance),
        communication_efficiency: mean(|of| of.communication_efficiency),
        serialisation: known(|of| of.serialisation),
        transfer: known(|of| of.transfer),
        ..Size::default()
    }
}

/// For what the time of ranks goes, with models.
fn parts(runs: &[Run], sizes: &[Size]) -> Vec<Part> {
    let names: BTreeSet<&(bool, String)> = runs.iter().flat_map(|run| run.parts.keys()).collect();
    let part = |key: &(bool, String)| {
        let seconds = |size: &Size| {
            let of_size: Vec<&Run> = runs.iter().filter(|run| run.ranks == size.ranks).collect();
            let all: f64 = of_size.iter().filter_map(|run| run.parts.get(key)).sum();
            (size.ranks, all / of_size.len().max(1) as f64)
        };
        let seconds: Vec<(u32, f64)> = sizes.iter().map(seconds).collect();
        let is_worth = seconds.iter().zip(sizes).any(|(of, size)| of.1 >= LEAST_SHARE * size.run_s);
        is_worth.then(|| {
            let points: Vec<(f64, f64)> =
                seconds.iter().map(|(ranks, time)| (f64::from(*ranks), *time)).collect();
            Part {
                name: key.1.clone(),
                is_phase: key.0,
                seconds,
                model: Model::of(&points),
                dominates_from: None,
            }
        })
    };
    let mut all: Vec<Part> = names.into_iter().filter_map(part).collect();
    let last = |part: &Part| part.seconds.last().map_or(0.0, |of| of.1);
    all.sort_by(|a, b| last(b).total_cmp(&last(a)));
    all
}

/// Finds from how many ranks on each takes more than any other that is no phase.
fn dominate(parts: &mut [Part], least: f64) {
    let models: Vec<Option<Model>> = parts.iter().map(|part| part.model.filter(|_| !part.is_phase)).collect();
    for (place, part) in parts.iter_mut().enumerate() {
        let Some(own) = models[place] else { continue };
        let others =
            || models.iter().enumerate().filter(|(other, _)| *other != place).filter_map(|(_, of)| *of);
        let is_most = |ranks: f64| others().all(|other| own.at(ranks) > other.at(ranks));
        if !is_most(FARTHEST) {
            continue;
        }
        // Two models of one term cross once.
        let (mut below, mut above) = (least, FARTHEST);
        if is_most(below) {
            above = below;
        }
        while above - below > 1.0 {
            let middle = ((below + above) / 2.0).floor();
            if is_most(middle) {
                above = middle;
            } else {
                below = middle;
            }
        }
        part.dominates_from = Some(above as u64);
    }
}

/// The term of a part in words, for one that has a model.
#[must_use]
pub fn growth(term: Term) -> String {
    match term {
        Term::Constant => "stays as it is".into(),
        Term::Inverse => "shrinks like 1 / p".into(),
        term => format!("grows like {term}"),
    }
}

#[cfg(test)]
mod tests {
    use mel_log::profile::efficiency::{Efficiencies, Efficiency};
    use mel_log::profile::{CallProfile, CallSite, RankProfile};

    use super::*;

    /// A run in which each rank computes so long, and then waits so long at one line.
    pub(crate) fn profile(ranks: u32, computing: f64, waiting: f64) -> (String, Profile) {
        let useful = (0..ranks).map(|rank| (rank, computing));
        let whole = Efficiency::of(useful, computing + waiting).unwrap();
        let call = CallProfile {
            function: "MPI_Barrier".into(),
            site: Some(0),
            calls: 1,
            total_s: waiting,
            ..CallProfile::default()
        };
        let of_rank = |rank| RankProfile {
            rank,
            run_s: computing + waiting,
            calls: vec![call.clone()],
            ..RankProfile::default()
        };
        let site = CallSite { file: "a.c".into(), line: 7, ..CallSite::default() };
        let profile = Profile {
            command: vec!["./app".into()],
            mpi: "Open MPI".into(),
            world_size: ranks,
            efficiency: Some(Efficiencies { whole, ..Efficiencies::default() }),
            sites: vec![site],
            ranks: (0..ranks).map(of_rank).collect(),
            ..Profile::default()
        };
        (format!("run-{ranks}"), profile)
    }

    #[test]
    fn a_barrier_that_grows_comes_to_take_most() {
        let runs: Vec<_> =
            [2, 4, 8, 16].map(|ranks| profile(ranks, 1.0, 0.01 * f64::from(ranks))).into_iter().collect();
        let study = Study::of(&runs, None).unwrap();
        assert_eq!(study.scaling, Scaling::Weak);
        let (part, model) = study.threats().next().unwrap();
        assert_eq!((model.term, part.dominates_from), (Term::Linear, Some(101)));
        assert!(part.name.contains("a.c:7") && part.name.ends_with("MPI_Barrier"), "{}", part.name);
        assert_eq!(study.threats().count(), 1);
        let last = study.sizes.last().unwrap();
        assert!((last.computation_scalability - 1.0).abs() < 1e-9);
        assert!((last.speedup - 8.0 * 1.02 / 1.16).abs() < 1e-9, "{last:?}");
    }

    #[test]
    fn a_problem_that_is_shared_is_told_from_one_that_grows() {
        let runs: Vec<_> =
            [1, 2, 4].map(|ranks| profile(ranks, 1.0 / f64::from(ranks), 0.1)).into_iter().collect();
        let study = Study::of(&runs, None).unwrap();
        assert_eq!(study.scaling, Scaling::Strong);
        let computing = study.parts.iter().find(|part| part.name == COMPUTING).unwrap();
        assert_eq!(computing.model.map(|model| model.term), Some(Term::Inverse));
        let weak = Study::of(&runs, Some(Scaling::Weak)).unwrap();
        assert!(weak.sizes[2].speedup > 3.9 * study.sizes[2].speedup);
    }

    #[test]
    fn what_cannot_be_compared_is_said_with_the_remedy() {
        let one = profile(2, 1.0, 0.1);
        let said = |runs: &[(String, Profile)]| Study::of(runs, None).unwrap_err();
        assert!(said(&[one.clone(), one.clone()]).contains("another number of ranks"));
        let mut other = profile(4, 1.0, 0.1);
        other.1.command = vec!["/bin/other".into()];
        assert_eq!(said(&[one.clone(), other]), "these are runs of different programs: app, other");
        let mut without = profile(4, 1.0, 0.1);
        without.1.efficiency = None;
        assert!(said(&[one, without]).starts_with("run-4 has no efficiencies"));
    }
}
