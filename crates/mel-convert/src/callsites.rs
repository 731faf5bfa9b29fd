//! Call sites as lines: `halo.c:123 (exchange)`, from the debug information of the program and its libraries.
//!
//! Without debug information it is `exchange+0x12`, by the table of symbols, or `app+0x1234`: the place in the file.
//! The files are read where the logs are converted, and are taken to be those that ran.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use addr2line::Frame;
use object::{Object, ReadCache};
use rustc_hash::FxHashMap;

use super::debug_info::{DebugInfo, Reader};
use mel_log::profile::CallSite;
use mel_log::profile::stacks::is_by_the_way;
use mel_log::{RankLog, regular_file};

/// Where separate debug information is installed.
const DEBUG: &str = "/usr/lib/debug/.build-id";

/// Finds what addresses stand for, each once.
#[derive(Default)]
pub struct CallSites {
    /// By path: what could be read.
    files: FxHashMap<String, Option<DebugInfo>>,
    /// By rank and address.
    known: FxHashMap<(u32, u64), Rc<str>>,
}

impl std::fmt::Debug for CallSites {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CallSites").field("known", &self.known).finish_non_exhaustive()
    }
}

impl CallSites {
    /// What a return address in the process of this log stands for; `None` for address 0, which is none.
    pub fn of(&mut self, log: &RankLog, address: u64) -> Option<Rc<str>> {
        if address == 0 {
            return None;
        }
        let key = (log.info.rank, address);
        if let Some(known) = self.known.get(&key) {
            return Some(Rc::clone(known));
        }
        let site: Rc<str> = match log.definitions.module_of(address) {
            Some(module) => self.in_file(&module.path, address.wrapping_sub(module.bias)).into(),
            None => format!("{address:#x}").into(),
        };
        self.known.insert(key, Rc::clone(&site));
        Some(site)
    }

    /// The call that returns to this address, as the file at this path counts addresses.
    pub fn place(&mut self, path: &str, address: u64) -> CallSite {
        let file = self.files.entry(path.to_owned()).or_insert_with(|| load(Path::new(path)));
        let call = address.wrapping_sub(1);
        let mut site = CallSite { module: path.to_owned(), offset: address, ..CallSite::default() };
        let Some(file) = file else { return site };
        if let Some(Found { file, line, function }) = find(file, call) {
            (site.file, site.line, site.function) = (file, line, function.unwrap_or_default());
        } else if let Some((_, name)) = file.symbol(call) {
            site.function = addr2line::demangle_auto(name.into(), None).into_owned();
        }
        site
    }

    /// What a return address, as the file at this path counts addresses, stands for.
    fn in_file(&mut self, path: &str, address: u64) -> String {
        let file = self.files.entry(path.to_owned()).or_insert_with(|| load(Path::new(path)));
        // The call is before the place that it returns to, and may be the last thing in its line.
        let call = address.wrapping_sub(1);
        let found = file.as_ref().and_then(|file| line(file, call).or_else(|| symbol(file, call)));
        found.unwrap_or_else(|| {
            let name = Path::new(path).file_name().unwrap_or(path.as_ref());
            format!("{}+{address:#x}", name.display())
        })
    }
}

/// The debug information of a file: its own, or what is installed for it.
fn load(path: &Path) -> Option<DebugInfo> {
    // The C library's debug information is as large as that of all else, and its lines are of no use to anybody.
    let separate = (!path.to_str().is_some_and(is_by_the_way)).then(|| installed(path)).flatten();
    separate.and_then(|separate| DebugInfo::open(&separate)).or_else(|| DebugInfo::open(path))
}

/// Where the debug information of a file is installed, by what identifies the build.
fn installed(path: &Path) -> Option<PathBuf> {
    let cache = ReadCache::new(regular_file::open_named(path).ok()?);
    let file = object::File::parse(&cache).ok()?;
    let (first, rest) = file.build_id().ok()??.split_first()?;
    let mut name = String::new();
    rest.iter().try_for_each(|byte| write!(name, "{byte:02x}")).ok()?;
    let path = Path::new(DEBUG).join(format!("{first:02x}")).join(format!("{name}.debug"));
    path.exists().then_some(path)
}

/// A line of a source file.
struct Found {
    file: String,
    line: u32,
    function: Option<String>,
}

/// Whether a source file came with a package, and is not the user's: a crate of Cargo's registry, Rust's own library, an installed header.
fn is_of_package(file: &str) -> bool {
    file.contains("/registry/src/") || file.starts_with("/rustc/") || file.starts_with("/usr/include/")
}

/// File, line and function of a call: of an inlined function, the line in it, where that is no binding to MPI that came with a package.
/// Then it is the line that calls the binding, if that was inlined as well.
fn find(file: &DebugInfo, call: u64) -> Option<Found> {
    let mut frames = file.frames(call)?;
    let mut frame = frames.next().ok()??;
    let is_binding = |frame: &Frame<'_, Reader>| frame.location.as_ref()?.file.map(is_of_package);
    if is_binding(&frame) == Some(true) {
        while let Ok(Some(outer)) = frames.next() {
            if is_binding(&outer) == Some(false) {
                frame = outer;
                break;
            }
        }
    }
    let location = frame.location?;
    let line = location.line.filter(|line| *line != 0)?;
    let name = location.file?.to_owned();
    let demangled = frame.function.as_ref().and_then(|function| Some(function.demangle().ok()?.into_owned()));
    // Where lines are all that the compiler gave.
    let function =
        demangled.or_else(|| Some(addr2line::demangle_auto(file.symbol(call)?.1.into(), None).into_owned()));
    Some(Found { file: name, line, function })
}

/// The same as text.
fn line(file: &DebugInfo, call: u64) -> Option<String> {
    let Found { file, line, function } = find(file, call)?;
    let name = Path::new(&file).file_name()?.display().to_string();
    Some(match function {
        Some(function) => format!("{name}:{line} ({function})"),
        None => format!("{name}:{line}"),
    })
}

/// The function that a call is in, and how far behind its start it returns to.
fn symbol(file: &DebugInfo, call: u64) -> Option<String> {
    let (address, name) = file.symbol(call)?;
    let name = addr2line::demangle_auto(name.into(), None);
    Some(format!("{name}+{:#x}", call.checked_sub(address)?.saturating_add(1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mel_log::{Definition, HeaderInfo, LogFile};

    /// The program of this process, as a log would define it: where it is mapped from its beginning.
    fn program(path: &str) -> Definition {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let first = maps.lines().find(|line| line.contains(" 00000000 ") && line.ends_with(path)).unwrap();
        let start = u64::from_str_radix(first.split('-').next().unwrap(), 16).unwrap();
        Definition::Module { start, end: start + (1 << 30), bias: start, path: path.into() }
    }

    fn log(definitions: &[Definition]) -> RankLog {
        let directory = tempfile::tempdir().unwrap();
        let info = HeaderInfo {
            rank: 0,
            world_size: 1,
            pid: 1,
            ticks_per_second: 1,
            origin_ticks: 0,
            origin_realtime_nanos: 0,
            host: String::new(),
        };
        let path = directory.path().join("rank-0.mlog");
        let log = LogFile::create(&path, &info).unwrap();
        definitions.iter().for_each(|definition| log.define(definition).unwrap());
        RankLog::open(&path).unwrap()
    }

    #[test]
    fn a_binding_that_was_inlined_is_not_the_users_line() {
        let room = tempfile::tempdir().unwrap();
        let path = |name: &str| room.path().join(name);
        let package = path("registry/src/binding-1");
        std::fs::create_dir_all(&package).unwrap();
        let inline = "static inline __attribute__((always_inline)) int";
        let header = format!(
            "{inline} inner(int i) {{ int send(int); return send(i) * 3; }}\n{inline} next(int i) {{ return inner(i); }}\n"
        );
        std::fs::write(package.join("binding.h"), header).unwrap();
        let source = format!(
            "#include \"binding.h\"\n{inline} own(int i) {{\n return next(i); }}\nint outer(int i) {{\n return own(i) + 1; }}\n"
        );
        std::fs::write(path("app.c"), source).unwrap();
        let mut cc = std::process::Command::new("cc");
        cc.args(["-g", "-O1", "-shared", "-fPIC", "-o"]).args([path("app.so"), path("app.c")]);
        assert!(cc.arg("-I").arg(&package).status().unwrap().success());
        let library = path("app.so").display().to_string();
        let outer = DebugInfo::open(Path::new(&library)).unwrap().address_of("outer");
        let mut sites = CallSites::default();
        let lines: std::collections::BTreeSet<(u32, String)> = (outer + 1..outer + 24)
            .map(|address| sites.place(&library, address))
            .map(|site| (site.line, site.function))
            .collect();
        assert!(lines.contains(&(3, "own".to_owned())), "{lines:?}");
        assert!(lines.iter().all(|(_, function)| function != "inner" && function != "next"), "{lines:?}");
        assert!(!is_of_package("/home/me/app/src/main.rs") && is_of_package("/usr/include/c++/12/mpi.hpp"));
    }

    /// What the functions on the stack return to.
    #[inline(never)]
    fn stack() -> Vec<u64> {
        let mut addresses = Vec::new();
        let add = |frame: &backtrace::Frame| {
            addresses.push(frame.ip() as u64);
            true
        };
        // SAFETY: there is nothing to synchronise with on ELF systems, and `add` does not panic.
        unsafe { backtrace::trace_unsynchronized(add) };
        addresses
    }

    #[test]
    fn a_line_of_this_file_is_found() {
        let (line, addresses) = (line!(), stack());
        let log = log(&[program(std::env::current_exe().unwrap().to_str().unwrap())]);
        let mut sites = CallSites::default();
        let found: Vec<Rc<str>> = addresses.iter().filter_map(|address| sites.of(&log, *address)).collect();
        let this = found.iter().find(|site| site.starts_with(&format!("callsites.rs:{line} (")));
        assert!(this.is_some_and(|site| site.contains("a_line_of_this_file_is_found")), "{found:?}");
        let again: Vec<Rc<str>> = addresses.iter().filter_map(|address| sites.of(&log, *address)).collect();
        assert_eq!(found, again);
    }

    #[test]
    fn what_cannot_be_found_is_named_by_its_place() {
        let module = |path: &str, start| Definition::Module {
            start,
            end: start + 0x1000,
            bias: start - 0x100,
            path: path.into(),
        };
        let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        let log = log(&[module("/nowhere/libgone.so", 0x4000), module(readme, 0x8000), module("", 0xa000)]);
        let mut sites = CallSites::default();
        let mut of = |address| sites.of(&log, address).map(|site| site.to_string());
        assert_eq!(of(0x4010).as_deref(), Some("libgone.so+0x110"));
        assert_eq!(of(0x8010).as_deref(), Some("Cargo.toml+0x110"));
        assert_eq!(of(0xa010).as_deref(), Some("+0x110"));
        assert_eq!(of(0x3fff).as_deref(), Some("0x3fff"));
        assert_eq!(of(u64::MAX).as_deref(), Some("0xffffffffffffffff"));
        assert_eq!(of(0), None);
    }
}
