//! The MPIs that are installed, and how their compilers and launchers are called.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// One installed MPI.
#[derive(Clone, Debug)]
pub struct Mpi {
    /// `openmpi` or `mpich`.
    pub name: &'static str,
    mpicc: PathBuf,
    launcher: PathBuf,
    launcher_args: &'static [&'static str],
    env: &'static [(&'static str, &'static str)],
}

impl Mpi {
    /// Every MPI that is installed.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub fn all() -> Vec<Mpi> {
        let known = [
            Mpi {
                name: "openmpi",
                mpicc: "mpicc.openmpi".into(),
                launcher: "mpirun.openmpi".into(),
                // More ranks than cores are wanted; binding them would make them wait for each other.
                launcher_args: &["--oversubscribe", "--bind-to", "none"],
                env: &[("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")],
            },
            Mpi {
                name: "mpich",
                mpicc: "mpicc.mpich".into(),
                launcher: "mpiexec.mpich".into(),
                launcher_args: &[],
                env: &[],
            },
        ];
        let found: Vec<Mpi> =
            known.into_iter().filter(|mpi| on_path(&mpi.mpicc) && on_path(&mpi.launcher)).collect();
        assert!(
            !found.is_empty(),
            "no MPI found (mpicc.openmpi, mpicc.mpich): run scripts/install-deps first"
        );
        found
    }

    /// The compiler wrapper for C.
    pub fn mpicc(&self) -> Command {
        Command::new(&self.mpicc)
    }

    /// The launcher, set up to start `ranks` processes of whatever command is appended.
    pub fn launcher(&self, ranks: u32) -> Command {
        let mut command = Command::new(&self.launcher);
        command.args(self.launcher_args).arg("-n").arg(ranks.to_string());
        command.envs(self.env.iter().copied());
        command
    }
}

/// Whether a command of that name can be found in `PATH`.
fn on_path(command: &Path) -> bool {
    let path: OsString = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(command).is_file())
}
