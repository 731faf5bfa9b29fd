//! The MPIs that are installed, and how their compilers and launchers are called.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::artifacts::{absent, installed_by, root};

/// One installed MPI.
#[derive(Clone, Debug)]
pub struct Mpi {
    /// `openmpi` or `mpich`; `mpich-events`: the MPICH that has events of its own; `openmpi-5`, `mpich-5` and
    /// `standard` (MPICH 5 by the ABI of MPI-5): those of the Python package index; `openmpi-two-nodes`,
    /// `mpich-5-two-nodes`, `openmpi-tree` and `mpich-5-tree`.
    pub name: &'static str,
    mpicc: PathBuf,
    mpicxx: PathBuf,
    launcher: PathBuf,
    launcher_args: &'static [&'static str],
    env: Vec<(&'static str, OsString)>,
}

impl Mpi {
    /// Every MPI that is installed: by the names that Debian gives to the commands, so that several can be there at
    /// once; where there is none of these, the one whose commands are `mpicc` and `mpirun`.
    ///
    /// # Panics
    ///
    /// If there is none, or one of them is not there and tests may not do without.
    pub fn all() -> Vec<Mpi> {
        let mut found = vec![
            Mpi::open_mpi("mpicc.openmpi", "mpirun.openmpi"),
            Mpi::mpich("mpicc.mpich", "mpiexec.mpich"),
        ];
        found.retain(|mpi| on_path(&mpi.mpicc) && on_path(&mpi.launcher));
        if found.is_empty() && on_path("mpicc".as_ref()) && on_path("mpirun".as_ref()) {
            let version = Command::new("mpirun").arg("--version").output().map(|output| output.stdout);
            let is_open_mpi = String::from_utf8_lossy(&version.unwrap_or_default()).contains("Open");
            found.push(if is_open_mpi {
                Mpi::open_mpi("mpicc", "mpirun")
            } else {
                Mpi::mpich("mpicc", "mpirun")
            });
        }
        for name in ["openmpi", "mpich"] {
            if found.iter().all(|mpi| mpi.name != name) {
                absent(&format!("the distribution's {name}"), "scripts/install-deps installs it");
            }
        }
        assert!(!found.is_empty(), "no MPI found (mpicc, mpirun): run scripts/install-deps first");
        found
    }

    /// The MPICH that `scripts/mpich-with-events` has built, if it has. Not among [`Mpi::all`]: but for its events it is
    /// the distribution's.
    pub fn with_events() -> Option<Mpi> {
        let command =
            |name: &str| Some(installed_by("scripts/mpich-with-events", None)?.join("bin").join(name));
        Some(Mpi {
            name: "mpich-events",
            mpicc: command("mpicc")?,
            mpicxx: command("mpicxx")?,
            launcher: command("mpiexec")?,
            launcher_args: &[],
            env: Vec::new(),
        })
    }

    /// The Open MPI with PERUSE that `scripts/openmpi-with-peruse` has built, if it has. Not among [`Mpi::all`]:
    /// where it comes to the events it is another backend.
    pub fn with_peruse() -> Option<Mpi> {
        let command =
            |name: &str| Some(installed_by("scripts/openmpi-with-peruse", None)?.join("bin").join(name));
        Some(Mpi {
            name: "openmpi-peruse",
            mpicc: command("mpicc")?,
            mpicxx: command("mpicxx")?,
            launcher: command("mpirun")?,
            ..Mpi::open_mpi("mpicc", "mpirun")
        })
    }

    /// The newer MPIs of the Python package index, those that `scripts/pypi-mpis` has installed: Open MPI 5, MPICH 5, and
    /// MPICH 5 by the standard ABI.
    pub fn newer() -> Vec<Mpi> {
        let wanted = [("openmpi", "openmpi-5", ""), ("mpich", "mpich-5", ""), ("mpich", "standard", "_abi")];
        let found = wanted.map(|(package, name, ending)| {
            let prefix = installed_by("scripts/pypi-mpis", Some(package))?;
            let command = |name: &str| prefix.join("bin").join(name).display().to_string();
            let (mpicc, launcher) = (command(&format!("mpicc{ending}")), command("mpiexec"));
            let mpi = if package == "openmpi" {
                Mpi::open_mpi(&mpicc, &launcher)
            } else {
                Mpi::mpich(&mpicc, &launcher)
            };
            Some(Mpi { name, mpicxx: command(&format!("mpicxx{ending}")).into(), ..mpi })
        });
        found.into_iter().flatten().collect()
    }

    /// Those of [`Mpi::all`] and of [`Mpi::newer`].
    ///
    /// # Panics
    ///
    /// As [`Mpi::all`].
    pub fn all_and_newer() -> Vec<Mpi> {
        let mut all = Mpi::all();
        all.extend(Mpi::newer());
        all
    }

    /// The MPIs of the distribution, for tests that take minutes; with `MEL_TEST=every` all.
    pub fn of_distribution_or_every() -> Vec<Mpi> {
        if std::env::var("MEL_TEST").is_ok_and(|value| value == "every") {
            return Mpi::all_and_newer();
        }
        let mut all = Mpi::all();
        all.retain(|mpi| ["openmpi", "mpich"].contains(&mpi.name));
        all
    }

    /// Open MPI and MPICH 5 over two nodes that `scripts/two-nodes` makes on this machine, each with the same MPI on one
    /// node. Says why where it cannot.
    pub fn on_two_nodes() -> Vec<(Mpi, Mpi)> {
        let names = [("openmpi", "openmpi-two-nodes"), ("mpich-5", "mpich-5-two-nodes")];
        Mpi::on_nodes("scripts/two-nodes", &names)
    }

    /// Open MPI and MPICH 5 over the eight nodes of `scripts/tree-of-bridges`, likewise.
    pub fn on_a_tree() -> Vec<(Mpi, Mpi)> {
        let names = [("openmpi", "openmpi-tree"), ("mpich-5", "mpich-5-tree")];
        Mpi::on_nodes("scripts/tree-of-bridges", &names)
    }

    fn on_nodes(script: &str, names: &[(&str, &'static str)]) -> Vec<(Mpi, Mpi)> {
        let script = root().join(script);
        let check = Command::new(&script).arg("--check").output().expect("a script of ours can be run");
        if !check.status.success() {
            absent("virtual nodes", String::from_utf8_lossy(&check.stdout).trim_end());
            return Vec::new();
        }
        let both = Mpi::all_and_newer().into_iter().filter_map(|here| {
            let &(_, name) = names.iter().find(|(one_node, _)| *one_node == here.name)?;
            let mut on_nodes = Mpi { name, launcher: script.clone(), launcher_args: &[], ..here.clone() };
            on_nodes.env.push(("MPIRUN", here.launcher.clone().into()));
            Some((here, on_nodes))
        });
        let both: Vec<_> = both.collect();
        if both.is_empty() {
            absent("Open MPI and MPICH 5", "scripts/install-deps and scripts/pypi-mpis install them");
        }
        both
    }

    fn open_mpi(mpicc: &str, launcher: &str) -> Mpi {
        Mpi {
            name: "openmpi",
            mpicc: mpicc.into(),
            mpicxx: cpp_of(mpicc),
            launcher: launcher.into(),
            // More ranks than cores are wanted; binding them would make them wait for each other.
            launcher_args: &["--oversubscribe", "--bind-to", "none"],
            env: vec![
                ("OMPI_ALLOW_RUN_AS_ROOT", "1".into()),
                ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1".into()),
                // Looking for networks of these takes half of a start, and none is here: ob1 is chosen with and without.
                ("OMPI_MCA_mtl", "^ofi,psm2,psm".into()),
            ],
        }
    }

    fn mpich(mpicc: &str, launcher: &str) -> Mpi {
        Mpi {
            name: "mpich",
            mpicc: mpicc.into(),
            mpicxx: cpp_of(mpicc),
            launcher: launcher.into(),
            launcher_args: &[],
            env: Vec::new(),
        }
    }

    /// Whether ranks that wait give up their processors, by themselves or in a [`Job::patient`](crate::Job::patient): else more
    /// ranks than processors are late by whole slices of the scheduler.
    pub fn ranks_give_way(&self) -> bool {
        self.name == "mpich" || self.name.starts_with("openmpi")
    }

    /// The compiler wrapper for C.
    pub fn mpicc(&self) -> Command {
        Command::new(&self.mpicc)
    }

    /// The compiler wrapper for C++.
    pub fn mpicxx(&self) -> Command {
        Command::new(&self.mpicxx)
    }

    /// The launcher, set up to start `ranks` processes of whatever command is appended.
    pub fn launcher(&self, ranks: u32) -> Command {
        let mut command = Command::new(&self.launcher);
        command.args(self.launcher_args).arg("-n").arg(ranks.to_string());
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }
}

/// The compiler wrapper for C++ that belongs to one for C.
fn cpp_of(mpicc: &str) -> PathBuf {
    mpicc.replacen("mpicc", "mpicxx", 1).into()
}

/// Whether a command of that name can be found in `PATH`.
fn on_path(command: &Path) -> bool {
    let path: OsString = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(command).is_file())
}
