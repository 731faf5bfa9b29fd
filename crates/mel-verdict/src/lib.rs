//! From what the processes of a run have counted to where the time goes, and who is the cause.
//!
//! - [`run`](mod@run): the tables of all ranks as one: call sites, communicators, contexts.
//! - [`losses`]: the time that each call lost, and who had caused it.
//! - [`findings`]: losses as findings, worst first, with their sentences; those of a trace, too.
//! - [`budget`]: where all of the ranks' time goes.
//! - [`blame`]: who is the cause of a wait, followed back through the waits of others.
//! - [`many`]: collecting along a tree.
//! - [`replay`]: the run once more, and otherwise; `ideal`: from single waits.
//! - `lateness`: what a rank that came late did before.
//! - `nobody`: what is lost in the communication itself.
//! - `places`: call sites of a rank, and the time in their calls.
//! - `attribution`: what performance variables did in each call and region.
//! - `connections`: what went over the network.
//! - `communicators`: what a rank did on each communicator.
//! - `traffic`: who has sent what to whom.
//! - `windows`: who waits for whom in the synchronisation of windows.
//! - [`words`]: what findings have in common in their wording.
//!
//! Nothing here draws, reads a command line, or knows MPI's functions but by their names.

mod attribution;
pub mod blame;
pub mod budget;
mod communicators;
mod connections;
pub mod findings;
mod ideal;
mod in_parts;
mod lateness;
pub mod losses;
pub mod many;
mod nobody;
mod places;
mod regions;
pub mod replay;
pub mod run;
#[cfg(test)]
mod tests;
mod traffic;
mod windows;
pub mod words;

use mel_log::Definition;
use mel_log::profile::{Basis, CallSite, Profile, efficiency, remarks, why};
use mel_log::table::TableRows;

pub use blame::{Blame, Cause, Wait};

/// The profile of a run from the tables of its ranks, which are running or have ended in any way; some may be missing. `resolve` says what
/// a return address stands for, as the file at a path counts addresses.
pub fn profile(mut tables: Vec<TableRows>, resolve: impl FnMut(&str, u64) -> CallSite) -> Profile {
    let mut profile = described(&tables);
    tables.retain(|rows| profile.world_size == 0 || rows.rank < profile.world_size);
    profile.number_phases();
    let run = run::Run::of(tables, resolve);
    let losses = losses::of(&run);
    run.fill(&mut profile, &losses);
    if profile.counts("calls") {
        profile.verdict = Some(findings::estimated::of(&run, &losses));
        let (budget, of_ranks) = budget::of(&run, &losses);
        profile.budget = Some(budget);
        // Without some of their times ranks cannot be compared.
        let all_timed = run.ranks.iter().all(|rank| rank.rows.lost_times_in_regions == 0);
        for (rank, parts) in run.ranks.iter().zip(of_ranks) {
            let Some(of) = profile.ranks.iter_mut().find(|of| of.rank == rank.rank) else { continue };
            of.budget = Some(parts);
            of.regions = if all_timed { regions::of(rank) } else { Vec::new() };
            for (phase, seconds) in budget::computing_in_phases(&run, rank) {
                let name = run.phases.get(phase as usize);
                let place = name.and_then(|name| profile.phases.iter().position(|known| known == name));
                if let Some(of) = of.phases.iter_mut().find(|of| Some(of.phase as usize) == place) {
                    of.computing_s = Some(seconds);
                }
            }
        }
        profile.efficiency = efficiency::of(&profile);
        let ideal_s = losses.ideal.as_ref().and_then(ideal::Ideal::seconds);
        if let (Some(of), Some(ideal_s)) = (&mut profile.efficiency, ideal_s) {
            of.whole = std::mem::take(&mut of.whole).with_ideal(ideal_s, Basis::Estimated);
        }
        if let Some(of) = &mut profile.efficiency {
            in_parts::add(of, &losses, &run, (&profile.phases, &profile.ranks));
        }
        let Profile { verdict, ranks, sites, .. } = &mut profile;
        why::explain(verdict.as_deref_mut().unwrap_or_default(), ranks, ranks, sites);
    }
    profile.remarks = remarks::of(&profile);
    profile
}

/// What tables say of the run as a whole, and of each rank by itself.
pub fn described(tables: &[TableRows]) -> Profile {
    let mut profile = Profile::default();
    let mut said = Vec::new();
    for rows in tables {
        said.push((rows.rank, rows.world_size));
        if profile.started_unix_s == 0.0 {
            profile.started_unix_s = rows.started_realtime_nanos as f64 * 1e-9;
        }
        let ticks = rows.measured_until().saturating_sub(rows.started);
        profile.duration_s = profile.duration_s.max(ticks as f64 / rows.ticks_per_second.max(1) as f64);
        if profile.ranks.iter().all(|rank| rank.rank != rows.rank) {
            profile.ranks.push(rows.rank_profile());
        }
        let is_program = |definition: &&Definition| matches!(definition, Definition::Program { .. });
        if profile.command.is_empty()
            && let Some(Definition::Program {
                command, mpi, backend, mel_version, profiled, launcher, ..
            }) = rows.definitions.iter().find(is_program)
        {
            (profile.command, profile.mpi) = (command.clone(), mpi.clone());
            (profile.backend, profile.mel_version) = (backend.clone(), mel_version.clone());
            (profile.profiled, profile.launcher) = (profiled.clone(), launcher.clone());
        }
    }
    if profile.profiled.is_empty() && tables.iter().all(|rows| rows.queues.is_empty()) {
        profile.profiled = vec!["calls".into()];
    }
    profile.ranks.sort_by_key(|rank| rank.rank);
    profile.settle_size(&said, "profile table");
    profile
}
