//! Jobs of a batch system: Slurm on this machine, started by `scripts/slurm` for one test and ended with it.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::artifacts::{fresh_dir, mel, root};
use crate::job::start;
use crate::{Finished, Mpi};

/// Jobs wait for their turn, and those that reach a time limit for a minute or two.
const TIME_LIMIT: Duration = Duration::from_secs(1200);

/// Runs a shell script in a directory, where `srun`, `sbatch` and `sbcast` have four nodes, and `mel` is in the path. Nothing of Slurm is
/// left afterwards.
///
/// # Panics
///
/// If Slurm is not installed or does not start, or the script takes more than twenty minutes.
pub fn in_slurm(directory: &Path, script: &str) -> Finished {
    let mut command = Command::new(root().join("scripts/slurm"));
    command.args(["run", "bash", "-euc", script]).current_dir(directory);
    let of_mel = mel().parent().expect("the command lies in a directory").to_owned();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(of_mel).chain(std::env::split_paths(&path)));
    command.env("PATH", path.expect("paths without colons"));
    // Another one that is started by hand is not used.
    let of_its_own = fresh_dir();
    command.env("MEL_SLURM", of_its_own.path());
    let finished = start(command, TIME_LIMIT).wait();
    finished.expect(!finished.stderr.contains("scripts/slurm: "), "Slurm is not there");
    finished
}

/// Each MPI of the distribution with the plugin of `srun` that starts it.
pub fn mpis() -> Vec<(Mpi, &'static str)> {
    let plugin = |mpi: &Mpi| match mpi.name {
        "openmpi" => Some("pmix"),
        "mpich" => Some("pmi2"),
        _ => None,
    };
    Mpi::all()
        .into_iter()
        .filter_map(|mpi| Some((plugin(&mpi)?, mpi)))
        .map(|(plugin, mpi)| (mpi, plugin))
        .collect()
}
