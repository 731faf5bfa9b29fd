//! `libmel.so` inside an MPI program: from `MPI_Init*` to the end.
//!
//! - [`config`]: what the user asked for; `settings`, `controls`: control variables of the MPI and of MEL.
//! - `requests`: what a watcher asks to be set while the program runs.
//! - `holds`: what holds up calls that last long, for the table.
//! - `watchdog`: says when nothing moves, and who waits for whom.
//! - [`directory`]: where the run's files go; [`disks`]: where nodes have disks of their own.
//! - `described`: names and processes of communicators, for all who define these; [`registry`]: their numbers in the profile table,
//!   and all definitions there.
//! - [`state`]: what is kept of all this; [`session`]: what is switched on in `MPI_Init*`, and for each communicator; `sessions`: programs without a
//!   world.
//! - `truth`: how right the model was, for the table.
//! - [`finish`]: what is written and printed at the end, however the program ends.
//! - [`growth`]: warnings of logs that become large; [`warn`]: a line for the user.
//! - [`full`]: where the events core has no space for something.
//! - [`patience`]: how far the work at the end is; [`mpi_ranks`]: how all ranks do it together.
//! - [`launch`]: a launcher of another MPI, and a program without MPI.
//! - `lent`: states of threads that outlive them.
//! - [`phases`]: the phase that the program is in; [`asked`]: what it asks for: phases, stop and start.
//! - [`plugins`]: shared objects of the user's that are told what is seen.
//! - [`offers`]: what is told where the command opens this library outside of a program.
//! - [`tools`]: events for others' tools, where MEL itself was asked nothing.
//!
//! The consumers, each of which is a `consumer` for the session, which knows their list, `consumers`, and none of them:
//!
//! - [`queues`]: counts the message queues for the profile.
//! - [`windows`]: counts one-sided communication for the profile.
//! - [`calls`]: counts calls and what they wait for, by context.
//! - [`matrix`]: counts who sends what to whom.
//! - [`vars`]: samples performance variables.
//! - [`regions`]: regions of the program, and how long threads are in them.
//! - [`attribution`]: what variables do in each call and region.
//! - `policies`: sets control variables while the program runs, when something is so.
//! - [`trace`]: records calls, messages, searches and chosen events into the log.
//!
//! Nothing happens before the program initialises MPI. Nothing here may end or delay the program:
//! for whatever cannot be done there is one line on standard error, and the program runs on. Only the queue statistics
//! know events by name. Nothing here reads a command line, or draws.

pub mod asked;
pub mod attribution;
pub mod calls;
mod code;
mod collect;
pub mod config;
pub mod consumer;
mod consumers;
mod controls;
mod counters;
mod described;
pub mod directory;
pub mod disks;
pub mod finish;
pub mod full;
pub mod growth;
mod holds;
pub mod launch;
mod lent;
pub mod matrix;
pub mod mpi_ranks;
pub mod offers;
pub mod patience;
pub mod phases;
mod plugins;
mod policies;
mod polling;
mod processors;
pub mod queues;
pub mod regions;
pub mod registry;
mod requests;
pub mod session;
mod sessions;
mod settings;
pub mod state;
pub mod tools;
pub mod trace;
mod truth;
pub mod vars;
mod watchdog;
pub mod windows;

use mel_log::printable;
use mpi_abi::Abi;
use mpi_intercept::standard_error;
// The C functions of the events interface are exported because the crate is linked: others' tools in the
// same process get the same events.
use mpit_events_entry_points as _;

/// What runs when the process ends by `exit`. Not given to `atexit`: what was registered last would run first, and so before what the
/// program does in destructors, which may be its `MPI_Finalize`.
#[used]
#[unsafe(link_section = ".fini_array")]
static AT_EXIT: extern "C" fn() = finish::at_exit;

/// The only thing that happens when the library is loaded: the interception learns what to call at
/// the first `MPI_Init*`.
#[used]
#[unsafe(link_section = ".init_array")]
static ON_LOAD: extern "C" fn() = {
    extern "C" fn on_load() {
        mpi_intercept::on_startup(start);
    }
    on_load
};

/// Called by the interception at the first `MPI_Init*`, before MPI itself is initialised.
fn start(abi: &'static Abi) {
    let config = config::Config::from_environment();
    // Asked here for the first time, before MPI itself sets such variables.
    if mel_log::launcher::is_first_rank() {
        config.complaints.iter().for_each(|line| warn(line));
    }
    config.access.set();
    state::Session::prepare(abi, config);
}

/// Writes a line on standard error; names in it do not end it, nor does a terminal obey them. From any thread; not from a signal handler, as it allocates.
pub fn warn(line: &str) {
    standard_error::say(&printable::name(line));
}
