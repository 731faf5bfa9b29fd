//! Fortran programs: each is one source for all three interfaces of MPI.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::Mpi;
use crate::artifacts::{fresh_dir, root, target_dir};
use crate::program::{is_current, lock};

/// What a Fortran program gets MPI from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interface {
    /// `include 'mpif.h'`
    MpifH,
    /// `use mpi`
    Mpi,
    /// `use mpi_f08`
    MpiF08,
}

impl Interface {
    /// All of them.
    pub const ALL: [Interface; 3] = [Interface::MpifH, Interface::Mpi, Interface::MpiF08];

    /// The macro by which a source takes this one.
    fn macro_name(self) -> &'static str {
        match self {
            Interface::MpifH => "USE_MPIF_H",
            Interface::Mpi => "USE_MPI",
            Interface::MpiF08 => "USE_MPI_F08",
        }
    }

    /// The smallest program of this interface.
    fn probe(self) -> &'static str {
        match self {
            Interface::MpifH => "include 'mpif.h'\nend\n",
            Interface::Mpi => "use mpi\nend\n",
            Interface::MpiF08 => "use mpi_f08\nend\n",
        }
    }
}

/// Those that this MPI has, for the Fortran compiler that is here. What it has not is printed.
pub fn interfaces(mpi: &Mpi) -> Vec<Interface> {
    let directory = fresh_dir();
    let has = |interface: &Interface| {
        let source = directory.path().join("probe.f90");
        fs::write(&source, interface.probe()).expect("a temporary file");
        let found = run_compiler(mpi, &[], &source, &directory.path().join("probe")).is_ok();
        if !found {
            println!("skipped: {} does not compile Fortran with {interface:?}", mpi.name);
        }
        found
    };
    Interface::ALL.into_iter().filter(has).collect()
}

/// Compiles `programs/languages/NAME.F90` with one of the interfaces.
///
/// # Panics
///
/// If it does not compile.
pub fn compile_fortran(mpi: &Mpi, name: &str, interface: Interface) -> PathBuf {
    compile_fortran_source(
        mpi,
        &root().join("tests/programs/languages").join(name).with_extension("F90"),
        interface,
    )
}

/// Compiles a Fortran source with one of the interfaces.
pub(crate) fn compile_fortran_source(mpi: &Mpi, source: &Path, interface: Interface) -> PathBuf {
    let name = source.file_stem().unwrap_or_default().to_string_lossy();
    let directory = target_dir().join("test-programs").join(mpi.name);
    fs::create_dir_all(&directory).unwrap_or_else(|e| panic!("{}: {e}", directory.display()));
    let executable = directory.join(format!("{name}-{}", interface.macro_name()));
    let _one_at_a_time = lock(&executable);
    if is_current(&executable, &[source, &root().join("include/mel.f90")]) {
        return executable;
    }
    let draft =
        tempfile::Builder::new().prefix("draft-").tempdir_in(&directory).expect("target can be written");
    let draft_file = draft.path().join("program");
    let define = format!("-D{}", interface.macro_name());
    run_compiler(mpi, &[&define], source, &draft_file)
        .unwrap_or_else(|e| panic!("{} does not compile with {}:\n{e}", source.display(), mpi.name));
    fs::rename(&draft_file, &executable).unwrap_or_else(|e| panic!("{}: {e}", executable.display()));
    executable
}

fn run_compiler(mpi: &Mpi, options: &[&str], source: &Path, target: &Path) -> Result<(), String> {
    // Beside the compiler wrapper for C, and called alike.
    let program = mpi.mpicc().get_program().to_string_lossy().replacen("mpicc", "mpifort", 1);
    let Output { status, stderr, .. } = Command::new(OsString::from(program))
        .args(["-g", "-O1", "-ffree-line-length-none"])
        // One procedure for buffers of any type is what `mpif.h` is about.
        .args(["-w", "-fallow-argument-mismatch"])
        .args(options)
        .arg("-o")
        .args([target, source])
        // Modules of one's own land in the working directory.
        .current_dir(target.parent().unwrap_or(Path::new(".")))
        .output()
        .map_err(|e| e.to_string())?;
    status.success().then_some(()).ok_or_else(|| String::from_utf8_lossy(&stderr).into_owned())
}
