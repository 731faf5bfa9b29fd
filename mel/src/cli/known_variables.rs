//! What is known of the control variables of an MPI before a job starts.
//!
//! The MPI of a program is asked once, in a process of its own that knows nothing of the launcher; what it says is kept in the user's cache
//! directory for each library. Of ranks that start together one asks, and the others wait for it: all judge alike. Where nothing can be
//! kept nothing is known, and what is wrong is told in `MPI_Init`.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use mel_log::names::nearest_names;
use mel_log::offers::Variable;
use mel_log::setting::Setting;
use serde::{Deserialize, Serialize};

use super::vars::asked;
use super::{of_program, probe};

/// What is asked of a library: another one has what is kept asked anew.
const ASKED: &str = "before and after MPI_Init";
/// How long one rank waits for the one that asks.
const PATIENCE: Duration = Duration::from_secs(120);

/// What is known of a variable.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Known {
    /// The type of its elements, such as `int`.
    pub datatype: String,
    /// The numbers and names of the values that it may have; empty where the MPI does not say.
    pub items: Vec<(i32, String)>,
    /// Where only a description names them: that.
    #[serde(default)]
    pub named_in: String,
}

/// The control variables of an MPI by their names.
pub type Variables = BTreeMap<String, Known>;

/// A line about each setting that is certainly wrong: no variable has its name, or it may not have that value.
pub fn objections(settings: &[Setting], program: Option<&Path>) -> Vec<String> {
    let own = if settings.is_empty() { Vec::new() } else { ours("control") };
    let is_own = |setting: &&Setting| own.contains(&setting.name);
    let mut lines: Vec<String> = settings.iter().filter(is_own).filter_map(of_own).collect();
    let others: Vec<&Setting> = settings.iter().filter(|setting| !is_own(setting)).collect();
    // No MPI has such names.
    let (misspelt, others): (Vec<&Setting>, Vec<&Setting>) =
        others.into_iter().partition(|setting| setting.name.starts_with("mel_"));
    let has_own = !own.is_empty();
    let own = || own.iter().map(String::as_str);
    lines.extend(misspelt.into_iter().filter(|_| has_own).map(|setting| unknown(setting, "MEL", own())));
    if !others.is_empty()
        && let Some(known) = program.and_then(of_program)
    {
        lines.extend(others.into_iter().filter_map(|setting| of_mpi(setting, &known)));
    }
    lines
}

/// The names of MEL's variables of this kind, `control` or `performance`; none where `libmel.so` cannot be asked: the program does not start
/// then.
pub(super) fn ours(kind: &str) -> Vec<String> {
    let all: Vec<Variable> = probe::several(&["variables".as_ref()]).unwrap_or_default();
    all.into_iter().filter(|of| of.kind == kind).map(|of| of.name).collect()
}

fn unknown<'a>(setting: &Setting, whose: &str, known: impl Iterator<Item = &'a str>) -> String {
    let known: Vec<(String, &str)> = known.map(|name| (name.to_lowercase(), name)).collect();
    let nearest: Vec<&str> = nearest_names(&setting.name, known.iter().map(|(lower, _)| lower.as_str()))
        .into_iter()
        .filter_map(|near| known.iter().find(|(lower, _)| lower == near).map(|(_, name)| *name))
        .collect();
    let hint =
        if nearest.is_empty() { "see `mel vars`".into() } else { format!("nearest: {}", nearest.join(", ")) };
    format!("--set {setting}: {whose} has no such control variable; {hint}")
}

fn of_own(setting: &Setting) -> Option<String> {
    let asked = ["setting", &setting.name, &setting.value].map(OsStr::new);
    let why: Option<String> = probe::one(&asked).ok()?;
    why.map(|why| format!("--set {setting}: {why}"))
}

fn of_mpi(setting: &Setting, known: &Variables) -> Option<String> {
    let Some(variable) = known.get(&setting.name) else {
        // What a library below the MPI reads is none of its variables: it is set, and nobody can say whether that is right.
        if setting.is_below() {
            return None;
        }
        return Some(unknown(setting, "this MPI", known.keys().map(String::as_str)));
    };
    if may_be(&setting.value, variable) {
        return None;
    }
    let items: Vec<String> =
        variable.items.iter().map(|(number, name)| format!("{number} ({name})")).collect();
    let allowed = match () {
        () if !items.is_empty() => items.join(", "),
        () if !variable.named_in.is_empty() => format!("a name in its description: {}", variable.named_in),
        () => format!("a number ({})", variable.datatype),
    };
    Some(format!("--set {setting}: it may be {allowed}"))
}

/// Whether a variable may have a value; where that is not certain, too.
fn may_be(value: &str, variable: &Known) -> bool {
    let value = value.trim();
    let is_switch = ["true", "false", "yes", "no", "on", "off", "t", "f", "y", "n", "enabled", "disabled"]
        .contains(&value.to_ascii_lowercase().as_str());
    let items = &variable.items;
    if !variable.named_in.is_empty() {
        // MPICH has names here, and crashes in `MPI_Init` with anything else. They are written as `name   - what it is`.
        let is_followed =
            |rest: &str| rest.trim_start_matches(' ').starts_with("- ") && rest.starts_with(' ');
        return variable.named_in.split(value).skip(1).any(is_followed) && !value.is_empty();
    }
    if items.is_empty() {
        // MPIs take hexadecimal numbers, and units such as 64k; and some take words for numbers.
        let is_number = value.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+'));
        let is_counted = ["int", "unsigned", "unsigned_long", "unsigned_long_long", "count"]
            .contains(&variable.datatype.as_str());
        return !is_counted || is_number || is_switch || value.is_empty() || is_named(value);
    }
    let named = |word: &str| items.iter().any(|(_, name)| name.eq_ignore_ascii_case(word.trim()));
    if value.split(',').all(named) {
        return true;
    }
    let Ok(number) = value.parse::<i64>() else { return is_switch || value.starts_with("0x") };
    if items.iter().any(|(item, _)| i64::from(*item) == number) {
        return true;
    }
    // Values that are bits may be added up.
    let are_bits = items.iter().all(|(item, _)| *item >= 0 && (*item & (item - 1).max(0)) == 0);
    let all = items.iter().fold(0, |all, (item, _)| all | i64::from(*item));
    are_bits && items.len() > 2 && (0..=all).contains(&number)
}

/// Whether a word may be the name of a value that an MPI keeps as a number, as MPICH does with algorithms.
fn is_named(value: &str) -> bool {
    value.starts_with(|c: char| c.is_ascii_alphabetic())
        && value.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
}

/// What is known of the MPI that a program is linked with.
fn of_program(program: &Path) -> Option<Variables> {
    let library = of_program::library_of(program).ok()?.canonicalize().ok()?;
    kept(&folder()?, &library, ask)
}

/// Where it is kept.
fn folder() -> Option<PathBuf> {
    let is_set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = is_set("XDG_CACHE_HOME").or_else(|| Some(is_set("HOME")?.join(".cache")))?;
    Some(cache.join("mel").join("variables"))
}

/// What is kept of a library, in this folder; what it says when it is asked, where nothing is.
fn kept(folder: &Path, library: &Path, ask: impl FnOnce(&Path) -> Option<Variables>) -> Option<Variables> {
    let found = fs::metadata(library).ok()?;
    let mut hasher = DefaultHasher::new();
    let version = env!("CARGO_PKG_VERSION");
    (library, found.mtime(), found.mtime_nsec(), found.size(), version, ASKED).hash(&mut hasher);
    let name = format!("{}-{:016x}.json", library.file_name()?.to_string_lossy(), hasher.finish());
    let path = folder.join(name);
    if let Some(known) = read(&path) {
        return known;
    }
    DirBuilder::new().recursive(true).mode(0o700).create(folder).ok()?;
    let lock =
        OpenOptions::new().create(true).append(true).mode(0o600).open(path.with_extension("lock")).ok()?;
    lock_within(&lock, PATIENCE)?;
    // Another may have asked meanwhile.
    if let Some(known) = read(&path) {
        return known;
    }
    let known = ask(library);
    let file = tempfile::NamedTempFile::new_in(folder).ok()?;
    // What cannot be asked is not asked again.
    serde_json::to_writer(&file, &known).ok()?;
    file.persist(&path).ok()?;
    known
}

fn read(path: &Path) -> Option<Option<Variables>> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

/// Holds the file alone until it is closed.
fn lock_within(file: &File, patience: Duration) -> Option<()> {
    let deadline = Instant::now() + patience;
    loop {
        // SAFETY: the descriptor is open.
        if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0 {
            return Some(());
        }
        let is_held = std::io::Error::last_os_error().kind() == std::io::ErrorKind::WouldBlock;
        if !is_held || Instant::now() >= deadline {
            return None;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn ask(library: &Path) -> Option<Variables> {
    let known = asked::known_controls(library).ok()?;
    // A library that has none cannot say which are wrong.
    (!known.is_empty()).then_some(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Variables {
        let of = |datatype: &str, items: &[(i32, &str)]| Known {
            datatype: datatype.into(),
            named_in: String::new(),
            items: items.iter().map(|(item, name)| (*item, (*name).into())).collect(),
        };
        let named_in = "Variable to select oneauto - Internalbinomial    - Force Binomial".to_owned();
        [
            ("named", Known { named_in, ..of("int", &[]) }),
            ("algorithm", of("int", &[(0, "ignore"), (1, "linear"), (2, "chain"), (3, "pipeline")])),
            ("flags", of("int", &[(1, "send"), (2, "put"), (4, "get")])),
            ("switch", of("int", &[(0, "false"), (1, "true")])),
            ("size", of("unsigned_long", &[])),
            ("text", of("char", &[])),
        ]
        .map(|(name, known)| (name.to_owned(), known))
        .into()
    }

    fn judged(setting: &str) -> Option<String> {
        of_mpi(&setting.parse().unwrap(), &known())
    }

    #[test]
    fn only_what_is_certainly_wrong_is_refused() {
        for right in [
            "algorithm=2",
            "algorithm=CHAIN",
            "flags=6",
            "flags=send,get",
            "switch=1",
            "switch=yes",
            "size=64k",
            "size=0x10",
            "named=auto",
            "named=binomial",
            "size=-1",
            "text=^tcp",
            "size=auto",
            "UCX_RNDV_THRESH=64k",
            "OMPI_MCA_size=1",
        ] {
            assert_eq!(judged(right), None, "{right}");
        }
        let line = judged("algorithm=7").unwrap();
        assert_eq!(line, "--set algorithm=7: it may be 0 (ignore), 1 (linear), 2 (chain), 3 (pipeline)");
        for wrong in [
            "algorithm=tree",
            "flags=8",
            "flags=send,gat",
            "switch=2",
            "size=^tcp",
            "named=1",
            "named=binomiall",
            "named=Force",
            "named=",
        ] {
            assert!(judged(wrong).is_some(), "{wrong}");
        }
        let capitals = Variables::from([("MPIR_CVAR_ONE".to_owned(), Known::default())]);
        let line = of_mpi(&"MPIR_CVAR_ON=1".parse().unwrap(), &capitals).unwrap();
        assert!(line.contains("nearest: MPIR_CVAR_ONE"), "{line}");
        let line = judged("algoritm=1").unwrap();
        assert!(line.contains("no such control variable; nearest: algorithm"), "{line}");
    }

    #[test]
    fn variables_of_mel_need_no_mpi() {
        let lines = |setting: &str| objections(&[setting.parse().unwrap()], None);
        assert_eq!(lines("mel_recording=off"), [""; 0]);
        assert_eq!(lines("mel_recording=2"), ["--set mel_recording=2: it may be 0 (off) or 1 (on)"]);
        assert!(lines("mel_sampling_interval=10")[0].contains("from 1000 to 86400000000, or 0"));
        assert!(lines("mel_recordin=1")[0].contains("nearest: mel_recording"));
        assert!(lines("mel_profile=calls")[0].contains("cannot be set"));
        assert_eq!(lines("of_some_mpi=1"), [""; 0], "its MPI is not known");
    }

    #[test]
    fn a_library_is_asked_once_until_it_changes() {
        let room = tempfile::tempdir().unwrap();
        let library = room.path().join("libmpi.so");
        fs::write(&library, "1").unwrap();
        let never = |_: &Path| -> Option<Variables> { panic!("it is known") };
        let folder = room.path().join("cache");
        assert_eq!(kept(&folder, &library, |_| Some(known())), Some(known()));
        assert_eq!(kept(&folder, &library, never), Some(known()));
        fs::write(&library, "another").unwrap();
        assert_eq!(kept(&folder, &library, |_| None), None);
        assert_eq!(kept(&folder, &library, never), None, "nor is one that says nothing");
    }
}
