//! `libmel.so` inside an MPI program: from `MPI_Init*` to the end.
//!
//! - [`config`]: what the user asked for.
//! - [`directory`]: where the run's files go.
//! - [`session`]: what is switched on in `MPI_Init*`, and for each communicator.
//! - [`finish`]: what is written and printed at the end, however the program ends.
//! - [`growth`]: what is told of logs that become large.
//! - `tools`: the twin for others' tools, where MEL itself was asked nothing.
//!
//! Nothing happens before the program initialises MPI. Nothing here may end or delay the program:
//! whatever cannot be done is told in one line, and the program runs on.

pub mod config;
pub mod directory;
pub mod finish;
pub mod growth;
pub mod session;
mod tools;

use std::io::Write;

use mpi_abi::Abi;
// The C functions of the events interface are exported because the crate is linked: others' tools in the
// same process share the twin.
use mpit_events_entry_points as _;

/// Tells the user something, in one line on standard error.
pub fn tell(line: &str) {
    // One write, so that lines of several ranks do not mix; a closed standard error is no error.
    let _ = std::io::stderr().write_all(format!("mel: {line}\n").as_bytes());
}

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
    if crate::cli::run::is_first_rank() {
        config.complaints.iter().for_each(|line| tell(line));
    }
    session::Session::prepare(abi, config);
}
