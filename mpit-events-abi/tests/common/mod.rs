//! Building what the tests need: the library, and C programs that use it on each installed MPI.

#![allow(dead_code, reason = "each test uses its part")]

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use mel_tests::{Finished, Job, Mpi};

/// The root of the checkout.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate lies in the checkout")
}

/// `libmpit_events.so`, built as needed.
pub(crate) fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| built(env!("CARGO_PKG_NAME"), "libmpit_events.so"))
}

/// `libmel.so`, as `make build` leaves it.
pub(crate) fn libmel() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(mel_tests::artifacts::libmel)
}

/// A library, built with the profile of this test: Cargo does not do that for one that no Rust program can
/// link to.
fn built(package: &str, file: &str) -> PathBuf {
    // .../debug/deps/test-0123 -> .../debug
    let test = std::env::current_exe().expect("the path of this test");
    let output = test.parent().and_then(Path::parent).expect("a directory of Cargo's");
    let profile = match output.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(profile) => profile,
    };
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .args(["build", "--quiet", "--package", package, "--profile", profile])
        .arg("--target-dir")
        .arg(output.parent().expect("a target directory"))
        .current_dir(env!("CARGO_MANIFEST_DIR"));
    succeed(&mut command);
    let library = output.join(file);
    assert!(library.exists(), "{} was not built", library.display());
    library
}

/// A compiler call with the flags that every program here must do with.
pub(crate) fn compiler(mpi: &Mpi, standard: &str) -> Command {
    let mut command = mpi.mpicc();
    command.arg(format!("-std={standard}")).args(["-Wall", "-Wextra", "-Wpedantic", "-Werror"]);
    command.arg("-I").arg(root().join("include"));
    command
}

/// Compiles `tests/c/NAME.c`, linked to the library.
pub(crate) fn linked(mpi: &Mpi, name: &str, directory: &Path) -> PathBuf {
    let program = directory.join(format!("{name}.{}", mpi.name));
    let place = library().parent().expect("a file in a directory").display().to_string();
    let mut command = compiler(mpi, "c99");
    command.arg("-o").arg(&program).arg(root().join(format!("mpit-events-abi/tests/c/{name}.c")));
    // Some linkers leave the MPI library out when all functions are found here.
    command
        .args(["-Wl,--no-as-needed", "-pthread", "-L", &place, "-lmpit_events"])
        .arg(format!("-Wl,-rpath,{place}"));
    succeed(&mut command);
    program
}

/// Compiles a file of `examples/`: one that has `main` to a program, another to a library for preloading.
pub(crate) fn example(mpi: &Mpi, file: &str, directory: &Path) -> PathBuf {
    let source = root().join("examples").join(file);
    let is_program = std::fs::read_to_string(&source).expect("the example is there").contains("int main(");
    let name = source.file_stem().and_then(|name| name.to_str()).expect("a file with a name");
    let built = directory.join(format!("{name}.{}{}", mpi.name, if is_program { "" } else { ".so" }));
    let mut command = compiler(mpi, if is_program { "c99" } else { "c11" });
    if !is_program {
        command.args(["-shared", "-fPIC"]);
    }
    succeed(command.arg("-o").arg(&built).arg(&source));
    built
}

/// The environment variable with which these libraries are preloaded, in this order.
pub(crate) fn preload<'a>(libraries: impl IntoIterator<Item = &'a Path>) -> OsString {
    let mut variable = OsString::from("LD_PRELOAD=");
    for library in libraries {
        variable.push(library);
        variable.push(":");
    }
    variable
}

/// Runs a program with `environment` set, and gives what each process wrote to standard output.
pub(crate) fn run(mpi: &Mpi, ranks: u32, program: &Path, environment: &[&OsStr]) -> (Finished, Vec<String>) {
    let args = environment.iter().copied().chain([program.as_os_str()]);
    let (finished, outputs) = Job::new(mpi, ranks, "env").args(args).run_apart();
    (finished, outputs.into_iter().map(|output| output.stdout).collect())
}

/// How many event types tools see: the twin's sixteen, the thirteen of windows, the one of transports, and those that the MPI has itself.
pub(crate) fn num_event_types(mpi: &Mpi) -> usize {
    if mpi.name == "mpich-events" { 32 } else { 30 }
}

/// Runs a command, which must succeed.
pub(crate) fn succeed(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?} failed:\n{}", String::from_utf8_lossy(&output.stderr));
}
