//! Which MPI libraries are there, and what does each offer?

use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use mel_log::offers::{Inside, Library};
use mel_log::settings::without_mark;
use serde::Serialize;

use super::Finding;
use super::command::{on_path, output};
use crate::cli::of_program::{is_mpi_library, library_of};
use crate::cli::probe::answers;
use crate::cli::run::why_not_measured;
use mel_run::own_folder;

const WHAT: &str = "MPI";

/// The names of compilers of MPI programs: Debian's for each MPI, those of the standard ABI, Intel's.
const COMPILERS: [&str; 6] = ["mpicc", "mpicc.openmpi", "mpicc.mpich", "mpicc_abi", "mpiicx", "mpiicc"];

/// How long a compiler or an MPI that starts may take.
const SECONDS: u32 = 60;

/// An MPI library.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mpi {
    /// Its file.
    pub library: PathBuf,
    /// What uses it: compilers, programs; `ldconfig` for the dynamic linker's list.
    pub of: Vec<String>,
    /// What it says of itself; without it, it could not be asked.
    pub answer: Option<Library>,
}

/// MPI libraries by their files, with what uses them.
type Found = BTreeMap<PathBuf, Vec<String>>;

pub(super) fn examine(given: &[OsString]) -> (Vec<Finding>, Vec<Mpi>) {
    let (mut findings, mut found) = (Vec::new(), Found::new());
    if given.is_empty() {
        on_this_system(&mut found, &mut findings);
    }
    for name in given {
        match of_given(name) {
            Ok(library) => add(&mut found, library, name.to_string_lossy().into_owned()),
            Err(finding) => findings.push(finding),
        }
    }
    let mut mpis = Vec::new();
    for (library, of) in found {
        let asked = ask(&library);
        findings.push(describe(&library, &of, &asked));
        mpis.push(Mpi { library, of, answer: asked.ok() });
    }
    if given.is_empty() && mpis.is_empty() {
        findings.push(Finding::broken(
            WHAT,
            "no compiler of MPI programs on the path, and no libmpi that the dynamic linker knows",
            "there is no program to measure",
            "load the module of an MPI, or name a program: mel doctor ./app",
        ));
    }
    // One that can be used is enough.
    if given.is_empty() && mpis.iter().any(|mpi| mpi.answer.is_some()) {
        findings.iter_mut().for_each(|finding| finding.level = finding.level.min(super::Level::Less));
    }
    (findings, mpis)
}

/// The MPI library of what the user has named: a library, a program, or a compiler; if nothing, that of `mpicc`, or else of another
/// compiler on the path.
///
/// # Errors
/// There is none; in a sentence with the remedy.
pub(crate) fn one(given: Option<&OsStr>) -> anyhow::Result<PathBuf> {
    let Some(name) = given else {
        let mut compilers = COMPILERS.iter().filter_map(|name| on_path(name));
        let found = compilers.find_map(|compiler| compiled_for(&compiler).ok());
        return found.ok_or_else(|| {
            anyhow::anyhow!("no compiler of MPI programs is on the path; load the module of an MPI, or name a program or a library")
        });
    };
    of_given(name).map_err(|finding| {
        let remedy = if finding.remedy.is_empty() { String::new() } else { format!("; {}", finding.remedy) };
        anyhow::anyhow!("{}{remedy}", finding.found)
    })
}

fn add(found: &mut Found, library: PathBuf, of: String) {
    // Two names of one file are one library.
    let library = library.canonicalize().unwrap_or(library);
    let names = found.entry(library).or_default();
    if !names.contains(&of) {
        names.push(of);
    }
}

/// The MPIs of compilers on the path, and those that the dynamic linker finds.
fn on_this_system(found: &mut Found, findings: &mut Vec<Finding>) {
    for name in COMPILERS {
        let Some(compiler) = on_path(name) else { continue };
        match compiled_for(&compiler) {
            Ok(library) => add(found, library, name.to_owned()),
            Err(why) => findings.push(Finding::less(
                WHAT,
                format!("{} makes no program: {why}", compiler.display()),
                "programs of this MPI cannot be built here",
                "install its compiler and development files",
            )),
        }
    }
    let folders = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    for folder in env::split_paths(&folders).filter(|folder| !folder.as_os_str().is_empty()) {
        for file in fs::read_dir(folder).into_iter().flatten().flatten() {
            if is_mpi_library(&file.file_name().to_string_lossy()) {
                add(found, file.path(), "LD_LIBRARY_PATH".into());
            }
        }
    }
    let listed = ["ldconfig", "/sbin/ldconfig"].iter().find_map(|command| output(command, &["-p"], SECONDS));
    for line in listed.iter().flat_map(|listed| listed.out.lines()) {
        if let Some((name, path)) = line.split_once(" => ")
            && is_mpi_library(name.trim())
        {
            add(found, path.trim().into(), "ldconfig".into());
        }
    }
}

/// The MPI library of what the user has named: a library, a program, or a compiler.
fn of_given(name: &OsStr) -> Result<PathBuf, Finding> {
    let shown = Path::new(name).display();
    let broken = |found: String, remedy: &str| Finding::broken(WHAT, found, "nothing is measured", remedy);
    let path = if name.as_encoded_bytes().contains(&b'/') || Path::new(name).exists() {
        PathBuf::from(name)
    } else {
        on_path(&name.to_string_lossy())
            .ok_or_else(|| broken(format!("there is no {shown}"), "check its path"))?
    };
    if path.file_name().is_some_and(|file| is_mpi_library(&file.to_string_lossy())) {
        return Ok(path);
    }
    if let Some(why) = why_not_measured(path.as_os_str(), &path) {
        // The sentence has the remedy.
        return Err(broken(why, ""));
    }
    library_of(&path).or_else(|error| {
        // A compiler is no MPI program itself, but makes one.
        compiled_for(&path).map_err(|_| broken(error.to_string(), ""))
    })
}

/// The MPI library of the programs that a compiler makes.
fn compiled_for(compiler: &Path) -> Result<PathBuf, String> {
    let directory = own_folder("mel-doctor-", &std::env::temp_dir()).map_err(|error| error.to_string())?;
    let (source, program) = (directory.path().join("a.c"), directory.path().join("a"));
    // Without mpi.h: the library is wanted, not the declarations.
    let text = "int MPI_Init(int *, char ***);\nint main(void) { return MPI_Init(0, 0); }\n";
    fs::write(&source, text).map_err(|error| error.to_string())?;
    let arguments = [source.as_os_str(), "-o".as_ref(), program.as_os_str()];
    match output(compiler, &arguments, SECONDS) {
        Some(ended) if ended.well => library_of(&program).map_err(|error| error.to_string()),
        Some(ended) => Err(ended.last_words().to_owned()),
        None => Err("it cannot be started".into()),
    }
}

/// What a library says of itself, in a process of its own: it is started for a moment.
fn ask(library: &Path) -> Result<Library, String> {
    let command = env::current_exe().map_err(|error| error.to_string())?;
    let arguments = ["probe".as_ref(), "library".as_ref(), library.as_os_str()];
    let ended = output(command, &arguments, SECONDS).ok_or("it cannot be asked")?;
    let parsed = answers(&ended.out).next().and_then(|answer| serde_json::from_str(answer).ok());
    // A library may complain at its end; what it has said before is as true.
    parsed.ok_or_else(|| without_mark(ended.last_words()).to_owned())
}

fn describe(library: &Path, of: &[String], asked: &Result<Library, String>) -> Finding {
    let of = of.join(", ");
    let at = library.display();
    match asked {
        Err(why) => Finding::broken(
            WHAT,
            format!("{at} ({of}) cannot be used: {why}"),
            "its programs run as ever, and nothing in them is measured",
            "use Open MPI, MPICH or one with the binary interface of these, or of MPI-5",
        ),
        Ok(answer) => {
            let queues = match (answer.peruse, answer.open_mpi) {
                (true, _) => "queue events: observed by PERUSE in ob1",
                (false, true) => "queue events: modelled; observed if Open MPI is built with --enable-peruse",
                (false, false) => "queue events: modelled",
            };
            let why = if answer.peruse || !answer.why.contains("pml") {
                String::new()
            } else {
                format!(" ({})", answer.why)
            };
            let own = match answer.events {
                0 => String::new(),
                number => format!("; {number} event types of its own"),
            };
            let inside = match answer.inside {
                Inside::Component => "observed by its own component (--inside)",
                Inside::Peruse => "observed by PERUSE (--inside), except small ones",
                Inside::Ucx => "observed as they go to UCX (--inside), within a node unless they go past it",
                Inside::Nobody => "not seen, but for their bytes below the calls (--profile net)",
            };
            Finding::ok(
                WHAT,
                format!(
                    "{} ({}), {at}, of {of}; {queues}{why}{own}; messages inside collective operations: {inside}",
                    answer.name, answer.interface
                ),
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Level;

    fn answer(open_mpi: bool, peruse: bool, events: usize) -> Result<Library, String> {
        let why = "this MPI has no PERUSE".to_owned();
        let (name, interface) = ("An MPI 1.0".to_owned(), "MPI-3.1".to_owned());
        let inside = if open_mpi { Inside::Component } else { Inside::Ucx };
        Ok(Library { name, interface, open_mpi, events, peruse, why, inside })
    }

    #[test]
    fn a_finding_says_who_raises_the_queue_events() {
        let path = Path::new("/l/libmpi.so.40");
        let of = ["mpicc".to_owned()];
        let found = describe(path, &of, &answer(true, false, 0)).found;
        assert!(found.contains("modelled; observed if") && !found.contains("types of its own"), "{found}");
        assert!(
            found.ends_with("inside collective operations: observed by its own component (--inside)"),
            "{found}"
        );
        let found = describe(path, &of, &answer(true, true, 0)).found;
        assert!(found.contains("observed by PERUSE"), "{found}");
        let found = describe(path, &of, &answer(false, false, 7)).found;
        assert!(found.contains("modelled; 7 event types of its own"), "{found}");
        assert!(found.contains("as they go to UCX"), "{found}");
        assert_eq!(describe(path, &of, &Err("strange".into())).level, Level::Broken);
    }

    #[test]
    fn what_is_no_program_and_no_compiler_is_refused() {
        let finding = of_given("/bin/true".as_ref()).unwrap_err();
        assert!(finding.found.contains("is not linked with an MPI library"), "{finding:?}");
        let finding = of_given("no-such-program-anywhere".as_ref()).unwrap_err();
        assert_eq!((finding.level, finding.remedy.as_str()), (Level::Broken, "check its path"));
    }
}
