//! A test program in C or C++: what its head comment promises, and its executables. `programs/README.md` describes the comment.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::SystemTime;

use crate::Mpi;
use crate::artifacts::{built, root, target_dir};

const C: &[&str] = &["-std=c99"];

/// Without the C++ classes that old MPIs have beside the C interface.
const CPP: &[&str] = &["-std=c++17", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX"];

const FLAGS: &[&str] = &[
    "-O1",
    "-g",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-pthread",
    // Both MPIs give sentinels such as MPI_STATUSES_IGNORE as addresses that no array can have.
    "-Wno-stringop-overread",
    "-Wno-stringop-overflow",
];

/// How the launcher is expected to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// With this code.
    Code(i32),
    /// With any code but 0; which one differs between launchers and runs.
    Nonzero,
    /// As it ends without MEL, however that is.
    Any,
}

impl Exit {
    /// Whether a launcher that ended with `code` (`None`: by a signal) did so as expected.
    pub fn allows(self, code: Option<i32>) -> bool {
        match self {
            Exit::Code(wanted) => code == Some(wanted),
            Exit::Nonzero => code != Some(0),
            Exit::Any => true,
        }
    }
}

/// What a run under MEL leaves behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaves {
    /// A profile in which each rank has finalised MPI.
    Profile,
    /// A profile in which some rank has not.
    Killed,
    /// Whatever the program has left of it.
    Any,
}

/// One line of an event list: a word such as `post`, and the keys that it fixes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expectation {
    /// `post`, `match`, `unexpected`, `claim` or `cancel`.
    pub word: String,
    /// For instance `("source", 0)` and `("tag", 7)`.
    pub keys: Vec<(String, i64)>,
}

/// A test program and what it promises.
#[derive(Clone, Debug)]
pub struct Program {
    /// The file's name without `.c` or `.cpp`.
    pub name: String,
    source: PathBuf,
    /// Numbers of ranks to run with.
    pub ranks: Vec<u32>,
    /// Argument lists, at least one (which may be empty).
    pub args: Vec<Vec<String>>,
    /// How the launcher ends.
    pub exit: Exit,
    /// The queue events of those ranks for which the order is fixed.
    pub events: BTreeMap<u32, Vec<Expectation>>,
    /// What a run under MEL leaves behind.
    pub leaves: Leaves,
}

impl Program {
    /// The program `programs/NAME.c` or `programs/NAME.cpp`.
    ///
    /// # Panics
    ///
    /// If it does not exist or its head comment is not understood.
    pub fn named(name: &str) -> Program {
        let mut source = root().join("tests/programs").join(format!("{name}.c"));
        if !source.exists() {
            source.set_extension("cpp");
        }
        let text = fs::read_to_string(&source).unwrap_or_else(|e| panic!("{}: {e}", source.display()));
        let shown = source.display().to_string();
        parse(name, source, &text).unwrap_or_else(|e| panic!("{shown}: {e}"))
    }

    /// The program `hostile/NAME.c`, which `hostile/README.md` describes.
    ///
    /// # Panics
    ///
    /// As [`named`](Program::named).
    pub fn hostile(name: &str) -> Program {
        let source = root().join("tests/hostile").join(format!("{name}.c"));
        let text = fs::read_to_string(&source).unwrap_or_else(|e| panic!("{}: {e}", source.display()));
        let shown = source.display().to_string();
        parse(name, source, &text).unwrap_or_else(|e| panic!("{shown}: {e}"))
    }

    /// The names of all test programs, sorted.
    ///
    /// # Panics
    ///
    /// If the folder cannot be read.
    pub fn names() -> Vec<String> {
        let entries = fs::read_dir(root().join("tests/programs")).expect("tests/programs can be read");
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("tests/programs can be read").path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "c" || extension == "cpp"))
            .map(|path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    /// The executable for `mpi`, compiled when it is missing or older than its source or a header beside it.
    ///
    /// # Panics
    ///
    /// If the program does not compile.
    pub fn compile(&self, mpi: &Mpi) -> PathBuf {
        let check = root().join("tests/programs/check.h");
        let hostile = self.source.with_file_name("hostile.h");
        if hostile.exists() {
            let flags = ["-std=gnu11", "-D_GNU_SOURCE", "-lm", "-ldl"].map(OsString::from);
            return compile(mpi, &self.source, &[&self.source, &hostile, &check], &flags);
        }
        compile(mpi, &self.source, &[&self.source, &check], &[])
    }
}

/// Compiles `programs/special/NAME.c`: a program that only one test runs, for it has no fixed output, or no sound
/// profile.
///
/// # Panics
///
/// If it does not compile.
pub fn compile_special(mpi: &Mpi, name: &str) -> PathBuf {
    let programs = root().join("tests/programs");
    let source = programs.join("special").join(format!("{name}.c"));
    compile(mpi, &source, &[&source, &programs.join("check.h")], &[])
}

/// Compiles `programs/verdicts/NAME.c`.
///
/// # Panics
///
/// If it does not compile.
pub fn compile_verdicts(mpi: &Mpi, name: &str) -> PathBuf {
    let programs = root().join("tests/programs");
    let source = programs.join("verdicts").join(format!("{name}.c"));
    compile(
        mpi,
        &source,
        &[&source, &programs.join("verdicts/verdicts.h"), &programs.join("planted/planted.h")],
        &[],
    )
}

/// Compiles `programs/special/NAME.c` to a library that can be preloaded.
///
/// # Panics
///
/// If it does not compile.
pub fn compile_preloadable(mpi: &Mpi, name: &str) -> PathBuf {
    let source = root().join("tests/programs/special").join(format!("{name}.c"));
    let include = format!("-I{}", root().join("include").display()).into();
    compile(mpi, &source, &[&source], &["-shared".into(), "-fPIC".into(), include])
}

/// Compiles `programs/special/NAME.c`: a program that uses the events interface, from `libmpit_events.so`.
///
/// # Panics
///
/// If it does not compile.
pub fn compile_with_events(mpi: &Mpi, name: &str) -> PathBuf {
    let programs = root().join("tests/programs");
    let source = programs.join("special").join(format!("{name}.c"));
    let library = built("libmpit_events.so");
    let place = library.parent().expect("a file has a directory");
    let mut include = OsString::from("-I");
    include.push(root().join("include"));
    let mut path = OsString::from("-Wl,-rpath,");
    path.push(place);
    let mut directory = OsString::from("-L");
    directory.push(place);
    let flags = [include, "-Wl,--no-as-needed".into(), directory, "-lmpit_events".into(), path];
    compile(mpi, &source, &[&source, &programs.join("check.h")], &flags)
}

/// Compiles a C file that uses Score-P's interface for metric plugins, by the header in `programs/scorep`.
///
/// # Panics
///
/// If it does not compile.
pub fn compile_for_scorep(mpi: &Mpi, source: &Path, flags: &[&str]) -> PathBuf {
    let programs = root().join("tests/programs/scorep");
    let mut include = OsString::from("-I");
    include.push(&programs);
    let flags = ["-std=gnu11".into(), include].into_iter().chain(flags.iter().map(OsString::from));
    let header = programs.join("scorep/SCOREP_MetricPlugins.h");
    compile(mpi, source, &[source, &header], &flags.collect::<Vec<_>>())
}

/// Compiles one C file that is no test program, such as an example, for `mpi`.
///
/// # Panics
///
/// If it does not compile.
pub fn compile_source(mpi: &Mpi, source: &Path) -> PathBuf {
    compile(mpi, source, &[source], &[])
}

/// Compiles one C file that includes `header` and `check.h`.
pub(crate) fn compile_with_header(mpi: &Mpi, source: &Path, header: &Path) -> PathBuf {
    compile(mpi, source, &[source, header, &root().join("tests/programs/check.h")], &[])
}

fn compile(mpi: &Mpi, source: &Path, inputs: &[&Path], flags: &[OsString]) -> PathBuf {
    let room = source.parent().and_then(Path::file_name).unwrap_or_default();
    let directory = target_dir().join("test-programs").join(mpi.name).join(room);
    fs::create_dir_all(&directory).unwrap_or_else(|e| panic!("{}: {e}", directory.display()));
    let executable = directory.join(source.file_stem().unwrap_or_default());
    let _one_at_a_time = lock(&executable);
    if is_current(&executable, inputs) {
        return executable;
    }
    let draft =
        tempfile::Builder::new().prefix("draft-").tempdir_in(&directory).expect("target can be written");
    let draft_file = draft.path().join("program");
    let is_cpp = source.extension().is_some_and(|extension| extension == "cpp");
    let (mut compiler, language) = if is_cpp { (mpi.mpicxx(), CPP) } else { (mpi.mpicc(), C) };
    let Output { status, stderr, .. } = compiler
        .args(language)
        .args(FLAGS)
        .arg("-o")
        .args([draft_file.as_path(), source])
        .args(flags)
        .output()
        .unwrap_or_else(|e| panic!("{}'s compiler: {e}", mpi.name));
    assert!(
        status.success(),
        "{} does not compile with {}:\n{}",
        source.display(),
        mpi.name,
        String::from_utf8_lossy(&stderr)
    );
    fs::rename(&draft_file, &executable).unwrap_or_else(|e| panic!("{}: {e}", executable.display()));
    executable
}

/// Tests run side by side: none exchanges a program while another one runs it. Until the file is closed this one alone compiles it.
///
/// # Panics
///
/// If the folder of the executable cannot be written.
pub(crate) fn lock(executable: &Path) -> File {
    let mut name = executable.as_os_str().to_owned();
    name.push(".lock");
    let file = File::create(&name).unwrap_or_else(|e| panic!("{}: {e}", name.display()));
    rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive).expect("a file can be locked");
    file
}

/// Whether the executable is newer than what it is made of.
pub(crate) fn is_current(executable: &Path, inputs: &[&Path]) -> bool {
    let modified = |path: &Path| fs::metadata(path).and_then(|data| data.modified()).ok();
    let newest_input: Option<SystemTime> = inputs.iter().filter_map(|path| modified(path)).max();
    modified(executable).is_some_and(|built| newest_input.is_some_and(|input| built > input))
}

fn parse(name: &str, source: PathBuf, text: &str) -> Result<Program, String> {
    let mut program = Program {
        name: name.to_owned(),
        source,
        ranks: Vec::new(),
        args: Vec::new(),
        exit: Exit::Code(0),
        events: BTreeMap::new(),
        leaves: Leaves::Profile,
    };
    let mut list: Option<u32> = None;
    for line in text.lines().take_while(|line| !line.contains("*/")) {
        let line = line.trim_start_matches(['/', ' ', '*']);
        if let Some(ranks) = line.strip_prefix("ranks: ") {
            program.ranks = ranks.split_whitespace().map(number).collect::<Result<_, _>>()?;
        } else if let Some(args) = line.strip_prefix("args: ") {
            program.args.push(args.split_whitespace().map(str::to_owned).collect());
        } else if let Some(exit) = line.strip_prefix("exit: ") {
            program.exit = match exit {
                "nonzero" => Exit::Nonzero,
                "any" => Exit::Any,
                code => Exit::Code(number(code)?),
            };
        } else if let Some(leaves) = line.strip_prefix("leaves: ") {
            program.leaves = match leaves {
                "profile" => Leaves::Profile,
                "killed" => Leaves::Killed,
                "any" => Leaves::Any,
                other => return Err(format!("neither profile, killed nor any: {other}")),
            };
        } else if let Some(rank) = line.strip_prefix("events on rank ") {
            let rank = number(rank.trim_end_matches(':'))?;
            program.events.insert(rank, Vec::new());
            list = Some(rank);
        } else if let Some(events) = list.and_then(|rank| program.events.get_mut(&rank)) {
            events.extend(expectation(line)?);
        }
    }
    if program.ranks.is_empty() {
        return Err("no line `ranks: ` in the head comment".to_owned());
    }
    if program.args.is_empty() {
        program.args.push(Vec::new());
    }
    Ok(program)
}

fn expectation(line: &str) -> Result<Option<Expectation>, String> {
    let mut parts = line.split_whitespace();
    match parts.next() {
        None | Some("none") => Ok(None),
        Some(word @ ("post" | "match" | "unexpected" | "claim" | "cancel")) => {
            let keys = parts
                .map(|part| {
                    let (key, value) =
                        part.split_once('=').ok_or_else(|| format!("not KEY=NUMBER: {part}"))?;
                    Ok((key.to_owned(), number(value)?))
                })
                .collect::<Result<_, String>>()?;
            Ok(Some(Expectation { word: word.to_owned(), keys }))
        }
        Some(word) => Err(format!("unknown word in an event list: {word}")),
    }
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("not a number: {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Program, String> {
        parse("sample", PathBuf::new(), text)
    }

    #[test]
    fn a_head_comment_is_understood() {
        let text = "/* Words.\n *\n * ranks: 2 4\n * args: 1 x\n * args: 2\n * exit: 3\n * events on rank 0:\n *   none\n \
                    * events on rank 1:\n *   post tag=7\n *   cancel\n */\n * ranks: 9\n";
        let program = read(text).unwrap();
        assert_eq!(program.ranks, [2, 4]);
        assert_eq!(program.args, [vec!["1", "x"], vec!["2"]]);
        assert_eq!(program.exit, Exit::Code(3));
        assert!(program.events[&0].is_empty());
        let post = Expectation { word: "post".into(), keys: vec![("tag".into(), 7)] };
        assert_eq!(program.events[&1], [post, Expectation { word: "cancel".into(), keys: vec![] }]);
    }

    #[test]
    fn nothing_but_ranks_is_required() {
        let program = read("/* ranks: 1\n */").unwrap();
        assert_eq!((program.args.len(), program.args[0].len(), program.exit), (1, 0, Exit::Code(0)));
        assert!(program.events.is_empty());
    }

    #[test]
    fn mistakes_are_named() {
        assert!(read("/* nothing */").unwrap_err().contains("ranks"));
        assert!(read("/* ranks: two\n */").unwrap_err().contains("two"));
        let unknown = read("/* ranks: 2\n * events on rank 1:\n *   pots source=0\n */").unwrap_err();
        assert!(unknown.contains("pots"), "{unknown}");
    }

    #[test]
    fn every_program_says_what_it_promises() {
        let names = Program::names();
        assert!(names.len() >= 20, "{names:?}");
        for name in names {
            Program::named(&name);
        }
    }
}
