//! The debug information of a file, with what it says is in others: split DWARF, in a file for each unit (`.dwo`) or in one for all (`.dwp`).
//!
//! A file names others as whoever has made it likes. Only regular files are opened, so nothing waits for a named pipe or a device.

use std::cell::OnceCell;
use std::convert::Infallible;
use std::ffi::OsStr;
use std::ops::{Deref, Range};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use addr2line::{Context, FrameIter, LookupContinuation, LookupResult, SplitDwarfLoad};
use gimli::{
    CloneStableDeref, Dwarf, DwarfPackage, EndianReader, Error, Reader as _, RunTimeEndian, SectionId,
    StableDeref,
};
use memmap2::Mmap;
use object::read::{SymbolMap, SymbolMapEntry};
use object::{Object, ObjectSection};

use mel_log::regular_file;

/// The bytes of a section: where they are in a mapped file, or as they were unpacked.
#[derive(Clone, Debug)]
pub(crate) enum Bytes {
    Mapped(Arc<Mmap>, Range<usize>),
    Unpacked(Arc<[u8]>),
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Bytes::Mapped(map, range) => map.get(range.clone()).unwrap_or_default(),
            Bytes::Unpacked(bytes) => bytes,
        }
    }
}

// SAFETY: the bytes are those of a mapping or of an allocation that stays where it is as long as the `Arc` does, whichever place that has.
unsafe impl StableDeref for Bytes {}
// SAFETY: a clone has the same `Arc`, and so the same bytes.
unsafe impl CloneStableDeref for Bytes {}

pub(crate) type Reader = EndianReader<RunTimeEndian, Bytes>;

/// A file that is mapped.
struct Mapped(Arc<Mmap>);

impl Mapped {
    fn open(path: &Path) -> Option<Mapped> {
        let file = regular_file::open_named(path).ok()?;
        // SAFETY: the map is only read. That somebody cuts the file off meanwhile is accepted as a crash of the reading command, as every
        // reader of mapped files does.
        let map = unsafe { Mmap::map(&file) }.ok()?;
        Some(Mapped(Arc::new(map)))
    }

    fn parse(&self) -> Option<Parsed<'_>> {
        Some(Parsed { map: &self.0, object: object::File::parse(&self.0[..]).ok()? })
    }
}

/// The same, and where its sections are.
struct Parsed<'a> {
    map: &'a Arc<Mmap>,
    object: object::File<'a>,
}

impl Parsed<'_> {
    /// A section; one that is not there, or cannot be unpacked, is empty.
    fn section(&self, name: Option<&str>) -> Reader {
        let endian = match self.object.is_little_endian() {
            true => RunTimeEndian::Little,
            false => RunTimeEndian::Big,
        };
        let section = name.and_then(|name| self.object.section_by_name(name));
        EndianReader::new(section.and_then(|section| self.bytes(&section)).unwrap_or_else(none), endian)
    }

    fn bytes(&self, section: &object::Section<'_, '_>) -> Option<Bytes> {
        use std::borrow::Cow;
        Some(match section.uncompressed_data().ok()? {
            Cow::Owned(unpacked) => Bytes::Unpacked(unpacked.into()),
            Cow::Borrowed(_) => {
                let (begin, length) = section.file_range()?;
                let (begin, length) = (usize::try_from(begin).ok()?, usize::try_from(length).ok()?);
                Bytes::Mapped(Arc::clone(self.map), begin..begin.checked_add(length)?)
            }
        })
    }

    /// All sections, by the names that they have in this kind of file.
    fn dwarf(&self, name: impl Fn(SectionId) -> Option<&'static str>) -> Dwarf<Reader> {
        let Ok(dwarf) = Dwarf::load(|id| Ok::<_, Infallible>(self.section(name(id))));
        dwarf
    }
}

/// No bytes.
fn none() -> Bytes {
    Bytes::Unpacked(Arc::new([]))
}

/// A function or variable of a file.
struct Symbol {
    address: u64,
    size: u64,
    name: String,
}

impl SymbolMapEntry for Symbol {
    fn address(&self) -> u64 {
        self.address
    }

    fn size(&self) -> u64 {
        self.size
    }
}

/// What the debug information of a file, and its symbols, say of addresses.
pub(crate) struct DebugInfo {
    file: Mapped,
    context: Context<Reader>,
    /// The split units that are packed into one file.
    package: Option<DwarfPackage<Reader>>,
    symbols: OnceCell<SymbolMap<Symbol>>,
}

impl DebugInfo {
    /// That of an object, whether it has any or not; `None` where it is no regular file, or no object.
    pub(crate) fn open(path: &Path) -> Option<DebugInfo> {
        let file = Mapped::open(path)?;
        let context = Context::from_dwarf(file.parse()?.dwarf(|id| Some(id.name()))).ok()?;
        Some(DebugInfo { file, context, package: package(path), symbols: OnceCell::new() })
    }

    /// The functions that an address is in, an inlined one first, with their lines.
    pub(crate) fn frames(&self, address: u64) -> Option<FrameIter<'_, Reader>> {
        let mut found = self.context.find_frames(address);
        loop {
            match found {
                LookupResult::Output(frames) => return frames.ok(),
                LookupResult::Load { load, continuation } => {
                    found = continuation.resume(self.split(&load).map(Arc::new));
                }
            }
        }
    }

    /// The symbol that an address is in: its address and name.
    pub(crate) fn symbol(&self, address: u64) -> Option<(u64, &str)> {
        let symbols = self.symbols.get_or_init(|| SymbolMap::new(self.symbols()));
        symbols.containing(address).map(|symbol| (symbol.address, symbol.name.as_str()))
    }

    /// The address of a symbol.
    #[cfg(test)]
    pub(crate) fn address_of(&self, name: &str) -> u64 {
        self.symbols().into_iter().find(|symbol| symbol.name == name).expect("it has a symbol").address
    }

    fn symbols(&self) -> Vec<Symbol> {
        let Some(file) = self.file.parse() else { return Vec::new() };
        let all = file.object.symbol_map();
        let own = all.symbols().iter().map(|symbol| Symbol {
            address: symbol.address(),
            size: symbol.size(),
            name: symbol.name().to_owned(),
        });
        own.collect()
    }

    /// A unit that is elsewhere.
    fn split(&self, load: &SplitDwarfLoad<Reader>) -> Option<Dwarf<Reader>> {
        let packed =
            self.package.as_ref().and_then(|package| package.find_cu(load.dwo_id, &load.parent).ok()?);
        packed.or_else(|| {
            let mut path = PathBuf::new();
            for part in [load.comp_dir.as_ref(), Some(load.path.as_ref()?)].into_iter().flatten() {
                path.push(OsStr::from_bytes(&part.to_slice().ok()?));
            }
            let mut dwarf = Mapped::open(&path)?.parse()?.dwarf(SectionId::dwo_name);
            let first = dwarf.units().next().ok()??;
            let is_it = dwarf.unit(first).ok()?.dwo_id == Some(load.dwo_id);
            dwarf.make_dwo(&load.parent);
            is_it.then_some(dwarf)
        })
    }
}

/// The split units of a file, packed into one that lies beside it.
fn package(path: &Path) -> Option<DwarfPackage<Reader>> {
    let mut name = path.as_os_str().to_owned();
    name.push(".dwp");
    let file = Mapped::open(name.as_ref())?;
    let file = file.parse()?;
    let empty = EndianReader::new(none(), file.section(None).endian());
    DwarfPackage::load(|id| Ok::<_, Error>(file.section(id.dwo_name())), empty).ok()
}

#[cfg(test)]
mod tests {
    use std::fs::{self, OpenOptions};
    use std::os::unix::fs::OpenOptionsExt;
    use std::process::Command;
    use std::thread;
    use std::time::Duration;

    use super::*;

    const SOURCE: &str = "static int inner(int i)\n{\n    return i * 3;\n}\nint outer(int i)\n{\n    return inner(i) + 1;\n}\n";

    /// What is told of the address of `outer` in a library: file, line, and the name in the debug information.
    fn told(library: &Path) -> (Option<String>, Option<u32>, Option<String>) {
        let info = DebugInfo::open(library).expect("an object");
        let outer = info.address_of("outer");
        assert_eq!(info.symbol(outer), Some((outer, "outer")));
        let frame = info.frames(outer).and_then(|mut frames| frames.next().ok()?);
        let location = frame.as_ref().and_then(|frame| frame.location.as_ref());
        let name =
            frame.as_ref().and_then(|frame| Some(frame.function.as_ref()?.demangle().ok()?.into_owned()));
        (location.and_then(|at| at.file.map(str::to_owned)), location.and_then(|at| at.line), name)
    }

    fn pipe(path: &Path) {
        let _ = fs::remove_file(path);
        assert!(Command::new("mkfifo").arg(path).status().expect("mkfifo can be started").success());
    }

    /// Whether somebody waits for what is written into this pipe.
    fn is_waited_for(pipe: &Path) -> bool {
        OpenOptions::new().write(true).custom_flags(libc::O_NONBLOCK).open(pipe).is_ok()
    }

    #[test]
    fn split_debug_information_is_read_and_a_pipe_in_its_place_is_not_waited_for() {
        let room = tempfile::tempdir().unwrap();
        let path = |name: &str| room.path().join(name);
        fs::write(path("split.c"), SOURCE).unwrap();
        let compiled = |arguments: &[&str]| {
            let mut cc = Command::new("cc");
            assert!(cc.args(arguments).current_dir(room.path()).status().expect("a compiler").success());
        };
        compiled(&["-c", "-g", "-O0", "-fPIC", "-gsplit-dwarf", "-o", "split.o", "split.c"]);
        compiled(&["-shared", "-o", "libsplit.so", "split.o"]);
        assert!(path("split.dwo").exists());
        let (file, line, name) = told(&path("libsplit.so"));
        assert!(file.is_some_and(|file| file.ends_with("split.c")));
        assert_eq!((line, name.as_deref()), (Some(6), Some("outer")));

        let pipes = [path("split.dwo"), path("libsplit.so.dwp")];
        pipes.iter().for_each(|path| pipe(path));
        let library = path("libsplit.so");
        let reading = thread::spawn(move || told(&library));
        // It is opened for a moment, to see what it is.
        const FOR_EVER: u32 = 5000;
        let mut times = 0;
        while !reading.is_finished() {
            times = if pipes.iter().any(|pipe| is_waited_for(pipe)) { times + 1 } else { 0 };
            assert!(times < FOR_EVER, "{pipes:?}: one is waited for");
            thread::sleep(Duration::from_millis(1));
        }
        let (_, _, name) = reading.join().unwrap();
        assert_eq!(name, None, "it is in the file that is not read");
    }
}
