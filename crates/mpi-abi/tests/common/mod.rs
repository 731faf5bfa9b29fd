//! Running small C programs on each installed MPI, with a library of ours preloaded.

#![allow(dead_code)]

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

use mel_tests::artifacts::{absent, installed_by};

/// An installed MPI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mpi {
    pub(crate) name: &'static str,
    pub(crate) cc: &'static str,
    pub(crate) cxx: &'static str,
    launcher: &'static [&'static str],
}

pub(crate) const OPEN_MPI: Mpi = Mpi {
    name: "openmpi",
    cc: "mpicc.openmpi",
    cxx: "mpicxx.openmpi",
    launcher: &["mpirun.openmpi", "--oversubscribe", "-n"],
};

pub(crate) const MPICH: Mpi =
    Mpi { name: "mpich", cc: "mpicc.mpich", cxx: "mpicxx.mpich", launcher: &["mpiexec.mpich", "-n"] };

/// The installed MPIs: Debian's, and, but for the quick tests of `make test`, those of `scripts/pypi-mpis`. At least one
/// must be there; what is absent is said.
pub(crate) fn installed() -> Vec<Mpi> {
    let mut all = vec![OPEN_MPI, MPICH];
    all.extend(of_package("openmpi", "openmpi-5", "mpicc", "mpicxx", &["--oversubscribe"]));
    all.extend(of_package("mpich", "mpich-5", "mpicc", "mpicxx", &[]));
    all.extend(of_package("mpich", "standard", "mpicc_abi", "mpicxx_abi", &[]));
    let (found, missing): (Vec<_>, Vec<_>) = all.into_iter().partition(|mpi| present(mpi.cc));
    for mpi in missing {
        absent(mpi.cc, "scripts/install-deps and scripts/pypi-mpis install the MPIs");
    }
    assert!(!found.is_empty(), "no MPI is installed: neither mpicc.openmpi nor mpicc.mpich");
    found
}

/// An MPI of the Python package index, where `scripts/pypi-mpis` puts it.
fn of_package(
    package: &str,
    name: &'static str,
    cc: &str,
    cxx: &str,
    options: &[&'static str],
) -> Option<Mpi> {
    let prefix = installed_by("scripts/pypi-mpis", Some(package))?;
    // Few and small: they live as long as the tests.
    let command = |name: &str| &*prefix.join("bin").join(name).display().to_string().leak();
    let launcher = [&[command("mpiexec")], options, &["-n"]].concat().leak();
    Some(Mpi { name, cc: command(cc), cxx: command(cxx), launcher })
}

/// The MPI libraries that a program brings with it.
pub(crate) fn mpi_libraries(program: &Path) -> Vec<String> {
    let listed = Command::new("ldd").arg(program).output().expect("ldd").stdout;
    let listed = String::from_utf8_lossy(&listed);
    let is_mpi =
        |name: &str| ["libmpi.so", "libmpich.so", "libmpi_abi.so"].iter().any(|mpi| name.starts_with(mpi));
    let of_mpi = listed.lines().map(str::trim).filter(|line| is_mpi(line));
    of_mpi.map(|line| line.split(' ').nth(2).expect("a path").to_owned()).collect()
}

/// Each MPI with another one.
pub(crate) fn pairs() -> Vec<(Mpi, Mpi)> {
    let all = installed();
    let next = all.iter().cycle().skip(1);
    all.iter().zip(next).map(|(&one, &other)| (one, other)).filter(|(one, other)| one != other).collect()
}

/// Whether a program can be started.
pub(crate) fn present(program: &str) -> bool {
    Command::new(program).arg("-show").output().is_ok()
}

/// The directory of this crate's test programs.
pub(crate) fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(name)
}

impl Mpi {
    /// Whether it has functions such as `MPI_Send_c`, which came with MPI-4.0: Open MPI 5 has not.
    pub(crate) fn has_large_counts(self) -> bool {
        !self.name.starts_with("openmpi")
    }

    /// Whether handles are integers of 32 bits.
    pub(crate) fn has_integer_handles(self) -> bool {
        self.name.starts_with("mpich")
    }

    /// Compiles a C (or, by its ending, C++) program of `tests/c`; the flags come last.
    pub(crate) fn compile(self, directory: &Path, name: &str, flags: &[&str]) -> PathBuf {
        let cxx = name.ends_with(".cc");
        let program = directory.join(format!("{name}.{}", self.name));
        compile(if cxx { self.cxx } else { self.cc }, &source(name), &program, flags);
        program
    }

    /// A command that runs `program` with this many ranks, one process without launcher for 1.
    /// `environment` is set for the ranks only.
    pub(crate) fn command(self, ranks: usize, program: &Path, environment: &[(&str, &str)]) -> Command {
        // `env` sets it behind the launcher: LD_PRELOAD is not meant for that.
        // A program that hangs is a failure, not a reason to wait for ever.
        let mut command = Command::new("timeout");
        command.arg("120");
        if ranks > 1 {
            // Launchers of Open MPI that start at once would make and remove one folder: each has its own.
            let script = r#"d=$(mktemp -d) && trap 'rm -rf "$d"' EXIT
                export OMPI_MCA_orte_tmpdir_base=$d PRTE_MCA_prte_tmpdir_base=$d; "$@""#;
            command.args(["sh", "-c", script, "sh"]);
            command.args(self.launcher).arg(ranks.to_string());
        }
        command.arg("env");
        command.args(environment.iter().map(|(key, value)| format!("{key}={value}")));
        command.arg(program);
        command.env("OMPI_ALLOW_RUN_AS_ROOT", "1");
        command.env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        command.env("OMPI_MCA_btl_base_warn_component_unused", "0");
        command
    }

    /// Runs a program and gives what came of it.
    pub(crate) fn run(self, ranks: usize, program: &Path, environment: &[(&str, &str)]) -> Outcome {
        self.run_with(ranks, program, environment, &[])
    }

    /// As `run`, with arguments for the program.
    pub(crate) fn run_with(
        self,
        ranks: usize,
        program: &Path,
        environment: &[(&str, &str)],
        arguments: &[&str],
    ) -> Outcome {
        let mut command = self.command(ranks, program, environment);
        command.args(arguments);
        let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        Outcome::new(self.name, output)
    }
}

/// Compiles `source` to `target`.
pub(crate) fn compile(compiler: &str, source: &Path, target: &Path, flags: &[&str]) {
    let mut command = Command::new(compiler);
    command.args(["-g", "-O1", "-Wall", "-o"]).arg(target).arg(source).args(flags);
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?} failed:\n{}", String::from_utf8_lossy(&output.stderr));
}

/// What a program printed, and how it ended.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) mpi: &'static str,
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Outcome {
    fn new(mpi: &'static str, output: Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self { mpi, code: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
    }

    /// Fails unless the program ended well.
    pub(crate) fn succeeded(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:#?}");
        self
    }
}

/// The shared object that Cargo makes of this crate's example of this name, built as needed.
pub(crate) fn preloadable(name: &str) -> PathBuf {
    // .../debug/deps/test-0123 -> .../debug
    let test = std::env::current_exe().expect("the path of this test");
    let output = test.parent().and_then(Path::parent).expect("a directory of Cargo's");
    let profile = match output.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(profile) => profile,
    };
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .args(["build", "--quiet", "--package", env!("CARGO_PKG_NAME"), "--example", name])
        .args(["--profile", profile])
        .arg("--target-dir")
        .arg(output.parent().expect("a target directory"))
        .current_dir(env!("CARGO_MANIFEST_DIR"));
    let status = command.status().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(status.success(), "{command:?} failed");
    let library = output.join("examples").join(format!("lib{name}.so"));
    assert!(library.exists(), "{} was not built", library.display());
    library
}
