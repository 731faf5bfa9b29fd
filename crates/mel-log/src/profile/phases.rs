//! The phases of a run: each rank has numbers of its own, the run has one for each name.

use super::efficiency::Efficiencies;
use super::schema::{Profile, Queues, RankProfile};
use super::sums::{self, Sum};

/// What is shown for the phase without a name: what belongs to no phase.
pub const SHOWN_WITHOUT_NAME: &str = "(no phase)";

/// A phase's name as it is shown.
pub fn shown(name: &str) -> &str {
    if name.is_empty() { SHOWN_WITHOUT_NAME } else { name }
}

/// The name of a phase as it is shown, of those that a profile has; empty where it has none of this number.
pub fn name_of(phases: &[String], number: u32) -> &str {
    phases.get(number as usize).map_or("", |name| shown(name))
}

/// What all ranks did in one phase.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OfPhase<'a> {
    /// Its name; empty for what belongs to none.
    pub name: &'a str,
    /// The time of all ranks together, in seconds.
    pub run_s: f64,
    /// The longest time of a rank, in seconds, and that rank.
    pub longest: (f64, u32),
    /// Their calls.
    pub sum: Sum,
    /// The longest posted queue of any rank; absent where the phase has no queues of its own.
    pub posted: Option<u64>,
    /// The same of the unexpected queue.
    pub unexpected: Option<u64>,
}

/// The phases in the order of the profile. None where the program has named none, and of very many ranks, of which there are sums over all
/// phases only.
pub fn sums_of(profile: &Profile) -> Vec<OfPhase<'_>> {
    let mut all: Vec<OfPhase<'_>> =
        profile.phases.iter().map(|name| OfPhase { name, ..OfPhase::default() }).collect();
    for rank in &profile.ranks {
        for phase in &rank.phases {
            let Some(of) = all.get_mut(phase.phase as usize) else { continue };
            of.run_s += phase.run_s;
            if phase.run_s > of.longest.0 {
                of.longest = (phase.run_s, rank.rank);
            }
            if let Some(queues) = &phase.queues {
                of.posted = of.posted.max(Some(queues.posted.max_length));
                of.unexpected = of.unexpected.max(Some(queues.unexpected.max_length));
            }
        }
        for call in sums::calls(rank) {
            if let Some(of) = all.get_mut(call.phase as usize) {
                of.sum.add(call);
            }
        }
    }
    if profile.ranks.is_empty() { Vec::new() } else { all }
}

/// What is known of a rank in one phase: calls, queues, traffic and connections.
pub fn part_of(rank: &RankProfile, phase: u32) -> RankProfile {
    let of_phase = rank.phases.iter().find(|known| known.phase == phase);
    let Queues { posted, unexpected, posted_search, unexpected_search } =
        of_phase.and_then(|known| known.queues.clone()).unwrap_or_default();
    RankProfile {
        rank: rank.rank,
        host: rank.host.clone(),
        ended: rank.ended,
        run_s: of_phase.map_or(0.0, |known| known.run_s),
        counters: of_phase.and_then(|known| known.counters),
        posted,
        unexpected,
        posted_search,
        unexpected_search,
        phases: of_phase.cloned().into_iter().collect(),
        calls: rank.calls.iter().filter(|call| call.phase == phase).cloned().collect(),
        traffic: rank.traffic.iter().filter(|traffic| traffic.phase == phase).cloned().collect(),
        connections: rank.connections.iter().filter(|row| row.phase == phase).cloned().collect(),
        ..RankProfile::default()
    }
}

/// The place of a phase in the list of a run, which gets it where it lacks it. The first place is for what belongs to no phase.
pub fn place_of(list: &mut Vec<String>, name: &str) -> u32 {
    if list.is_empty() {
        list.push(String::new());
    }
    let place = list.iter().position(|known| known == name).unwrap_or_else(|| {
        list.push(name.to_owned());
        list.len() - 1
    });
    place as u32
}

impl Profile {
    /// The numbers of one phase: what is known by phase, and neither verdict nor budget, which are about the whole run.
    ///
    /// # Errors
    /// A sentence with the names that there are, where there is no phase of this name.
    pub fn of_phase(&self, name: &str) -> Result<Profile, String> {
        let wanted = if name == SHOWN_WITHOUT_NAME { "" } else { name };
        let place = self.phases.iter().position(|known| known == wanted);
        let Some(place) = place.filter(|_| self.reduced.is_none()) else {
            let names: Vec<&str> = self.phases.iter().map(|name| shown(name)).collect();
            return Err(match (&self.reduced, names.is_empty()) {
                (Some(_), _) => {
                    "phases are not kept apart in runs of this size: sums cover all phases".into()
                }
                (None, true) => "the program has named no phases (mel_phase, MPI_Pcontrol)".into(),
                (None, false) => format!("there is no phase {name}; there are {}", names.join(", ")),
            });
        };
        Ok(Profile {
            ranks: self.ranks.iter().map(|rank| part_of(rank, place as u32)).collect(),
            verdict: None,
            budget: None,
            efficiency: self.efficiency.as_ref().and_then(|all| {
                let of = all.phases.iter().find(|of| of.phase == place as u32)?;
                Some(Efficiencies { whole: of.of.clone(), ..Efficiencies::default() })
            }),
            ..self.clone()
        })
    }

    /// Gives those phases of the ranks that come with their names, in numbers of the rank, their places in the list of the run. Calls and
    /// traffic keep what they have.
    pub fn number_phases(&mut self) {
        for phase in self.ranks.iter_mut().flat_map(|rank| &mut rank.phases) {
            let name = std::mem::take(&mut phase.name);
            if !name.is_empty() {
                phase.phase = place_of(&mut self.phases, &name);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{PhaseProfile, RankProfile, sample};

    fn of_rank(rank: u32, names: &[&str]) -> RankProfile {
        let phase = |(number, name): (usize, &&str)| PhaseProfile {
            phase: number as u32,
            name: (*name).into(),
            run_s: f64::from(rank),
            ..PhaseProfile::default()
        };
        RankProfile { rank, phases: names.iter().enumerate().map(phase).collect(), ..RankProfile::default() }
    }

    #[test]
    fn one_phase_has_its_own_numbers_only() {
        let mut profile = sample::late_rank(4, 1);
        assert!(profile.of_phase("solve").unwrap_err().contains("no phases"));
        profile.phases = vec![String::new(), "solve".into()];
        for rank in &mut profile.ranks {
            rank.calls[0].phase = 1;
            rank.phases = vec![PhaseProfile { phase: 1, run_s: 0.5, ..PhaseProfile::default() }];
        }
        let solve = profile.of_phase("solve").unwrap();
        assert_eq!((solve.ranks[1].calls.len(), solve.ranks[1].run_s), (1, 0.5));
        let rest = profile.of_phase("(no phase)").unwrap();
        assert_eq!(rest.ranks[1].calls.len() + 1, profile.ranks[1].calls.len());
        let whole: f64 = sums_of(&profile).iter().map(|phase| phase.sum.total_s).sum();
        assert!((whole - sums::whole(&profile).total_s).abs() < 1e-9);
        assert_eq!(profile.of_phase("x").unwrap_err(), "there is no phase x; there are (no phase), solve");
    }

    #[test]
    fn phases_of_one_name_are_one_whatever_their_order() {
        let ranks = vec![of_rank(0, &["", "solve", "write"]), of_rank(1, &["", "write", "more", "solve"])];
        let mut profile = Profile { ranks, ..Profile::default() };
        profile.number_phases();
        let numbers = |profile: &Profile, rank: usize| -> Vec<u32> {
            profile.ranks[rank].phases.iter().map(|phase| phase.phase).collect()
        };
        assert_eq!(profile.phases, ["", "solve", "write", "more"]);
        assert_eq!((numbers(&profile, 0), numbers(&profile, 1)), (vec![0, 1, 2], vec![0, 2, 3, 1]));
        let before = profile.clone();
        profile.number_phases();
        assert_eq!(profile, before, "a second time changes nothing");
    }
}
