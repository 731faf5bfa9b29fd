//! From what the processes of a run have counted to where the time goes, and who is the cause.
//!
//! - [`run`](mod@run): the tables of all ranks as one: call sites, communicators, contexts.
//! - [`losses`]: the time that each call lost, and who had caused it.
//! - [`findings`]: losses as findings, worst first, with their sentences; those of a trace, too.
//! - [`blame`]: who is the cause of a wait, followed back through the waits of others.
//! - [`many`]: collecting along a tree.
//! - `attribution`: what performance variables did in each call and region.
//! - `connections`: what went over the network.
//! - `communicators`: what a rank did on each communicator.
//! - `traffic`: who has sent what to whom.
//! - [`words`]: what findings have in common in their wording.
//!
//! Nothing here draws, reads a command line, or knows MPI's functions but by their names.

mod attribution;
pub mod blame;
mod communicators;
mod connections;
pub mod findings;
pub mod losses;
pub mod many;
pub mod run;
mod traffic;
pub mod words;

use mel_log::profile::{CallSite, Profile};
use mel_log::table::TableRows;

pub use blame::{Blame, Cause, Wait};

/// Fills a profile with what the tables of its ranks say: call sites, communicators, calls, waits, and the verdict. `resolve` says what
/// a return address stands for, as the file at a path counts addresses.
pub fn fill(profile: &mut Profile, tables: Vec<TableRows>, resolve: impl FnMut(&str, u64) -> CallSite) {
    if tables.is_empty() {
        return;
    }
    let run = run::Run::of(tables, resolve);
    let losses = losses::of(&run);
    run.fill(profile, &losses);
    if profile.counts("calls") {
        profile.verdict = Some(findings::estimated::of(&run, &losses));
    }
}
