//! On a node: what has changed in the directory of a run since the last time.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::hash::Hasher;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use mel_log::profile::{columns, file};
use mel_log::regular_file;
use mel_log::table::layout::MAX_BYTES;
use mel_log::table::lock;
use rustc_hash::FxHasher;

use super::message::{Message, PAGE, write};

/// A profile of so many bytes is told of; a larger one is not.
const LARGEST: u64 = 1 << 30;

/// Whether a file of this name is told of: what the reader of a run reads.
pub fn is_wanted(name: &str) -> bool {
    let rank = name.strip_prefix("rank-").and_then(|rest| rest.strip_suffix(".table"));
    let is_table = rank.is_some_and(|rank| rank.len() < 11 && rank.parse::<u32>().is_ok());
    name == file::FILE_NAME || name == columns::FILE_NAME || is_table
}

/// What was told of a file.
#[derive(Debug, Default)]
struct Told {
    /// Which file it was: a new one of the same name is another.
    inode: u64,
    length: u64,
    is_held: bool,
    /// Of each page that is not zeros.
    pages: HashMap<u64, u64>,
    /// When it was changed, as the file system says: of files that are not mapped.
    changed: (i64, i64),
}

/// Tells of one directory.
#[derive(Debug)]
pub struct Sender {
    directory: PathBuf,
    told: BTreeMap<String, Told>,
}

impl Sender {
    /// Of this directory, which need not be there yet.
    pub fn new(directory: &Path) -> Sender {
        Sender { directory: directory.to_owned(), told: BTreeMap::new() }
    }

    /// Tells what has changed, and that this is all.
    ///
    /// # Errors
    /// Those of the output: what cannot be read is left out.
    pub fn tell(&mut self, out: &mut impl Write) -> io::Result<()> {
        let mut there = BTreeSet::new();
        let entries = std::fs::read_dir(&self.directory);
        let is_there = entries.is_ok();
        for entry in entries.into_iter().flatten().flatten() {
            let Ok(name) = entry.file_name().into_string() else { continue };
            if is_wanted(&name) && self.tell_file(&name, out)? {
                there.insert(name);
            }
        }
        let gone: Vec<String> = self.told.keys().filter(|name| !there.contains(*name)).cloned().collect();
        for name in gone {
            self.told.remove(&name);
            write(out, &Message::Gone { name })?;
        }
        write(out, &Message::Now { is_there })?;
        out.flush()
    }

    /// Tells of a file; whether it is there.
    fn tell_file(&mut self, name: &str, out: &mut impl Write) -> io::Result<bool> {
        let Ok(file) = regular_file::open(&self.directory.join(name)) else { return Ok(false) };
        let Ok(metadata) = file.metadata() else { return Ok(false) };
        let is_table = name.ends_with(".table");
        let length = metadata.len();
        if length > LARGEST.max(MAX_BYTES as u64) {
            return Ok(false);
        }
        if self.told.get(name).is_some_and(|told| told.inode != metadata.ino() || told.length > length) {
            self.told.remove(name);
            write(out, &Message::Gone { name: name.into() })?;
        }
        // Read before the bytes: a process that ends meanwhile has written all by the next time.
        let is_held = is_table && lock::is_held(&file);
        let is_new = !self.told.contains_key(name);
        let told = self.told.entry(name.to_owned()).or_default();
        let changed = (metadata.mtime(), metadata.mtime_nsec());
        let is_as_before = !is_new && told.length == length && told.is_held == is_held;
        if is_as_before && !is_table && told.changed == changed {
            return Ok(true);
        }
        if !is_as_before {
            write(out, &Message::File { name: name.into(), length, is_held })?;
        }
        (told.inode, told.length, told.is_held, told.changed) = (metadata.ino(), length, is_held, changed);
        tell_pages(name, &file, length, told, out)?;
        Ok(true)
    }
}

/// Tells of the pages of a file that have changed. The first one first: it says how much of the others is used.
fn tell_pages(name: &str, file: &File, length: u64, told: &mut Told, out: &mut impl Write) -> io::Result<()> {
    let mut page = [0; PAGE];
    let mut at = 0;
    while let Some(next) = next_data(file, at).filter(|next| *next < length) {
        let number = next / PAGE as u64;
        at = (number + 1) * PAGE as u64;
        let wanted = (length - number * PAGE as u64).min(PAGE as u64) as usize;
        let Ok(count) = read_at(file, &mut page[..wanted], number * PAGE as u64) else { continue };
        let bytes = &page[..count];
        let is_zero = bytes.iter().all(|byte| *byte == 0);
        let mark = if is_zero { 0 } else { mark(bytes) };
        if told.pages.get(&number).copied().unwrap_or(0) == mark {
            continue;
        }
        told.pages.insert(number, mark);
        write(out, &Message::Page { name: name.into(), number, bytes: bytes.to_vec() })?;
    }
    Ok(())
}

/// Tells pages apart. Never 0.
fn mark(bytes: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(bytes);
    hasher.finish().max(1)
}

fn read_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<usize> {
    let mut done = 0;
    while done < bytes.len() {
        match file.read_at(&mut bytes[done..], at + done as u64) {
            Ok(0) => break,
            Ok(count) => done += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

/// Where there is something from a place on: tables have holes.
fn next_data(file: &File, at: u64) -> Option<u64> {
    let at = i64::try_from(at).ok()?;
    // SAFETY: a system call on an open file, with numbers only.
    let found = unsafe { libc::lseek(file.as_raw_fd(), at, libc::SEEK_DATA) };
    match found {
        // Beyond the last, or a file system that cannot say.
        -1 if io::Error::last_os_error().raw_os_error() == Some(libc::ENXIO) => None,
        -1 => u64::try_from(at).ok(),
        found => u64::try_from(found).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::message::read;
    use super::*;

    fn told(sender: &mut Sender) -> Vec<Message> {
        let mut bytes = Vec::new();
        sender.tell(&mut bytes).unwrap();
        let mut from = &bytes[..];
        std::iter::from_fn(|| read(&mut from).unwrap()).collect()
    }

    #[test]
    fn only_what_a_reader_reads_is_told() {
        for name in ["profile.json", "rank-0.table", "rank-17.table", "ranks.table"] {
            assert!(is_wanted(name), "{name}");
        }
        for name in
            ["rank-0.mlog", "rank-.table", "../rank-0.table", "rank-x.table", "rank-99999999999.table"]
        {
            assert!(!is_wanted(name), "{name}");
        }
    }

    #[test]
    fn changes_alone_are_told() {
        let directory = tempfile::tempdir().unwrap();
        let run = directory.path().join("run");
        let mut sender = Sender::new(&run);
        assert_eq!(told(&mut sender), [Message::Now { is_there: false }]);
        std::fs::create_dir(&run).unwrap();
        std::fs::write(run.join("other"), "x").unwrap();
        assert_eq!(told(&mut sender), [Message::Now { is_there: true }]);
        let file = File::create(run.join("rank-3.table")).unwrap();
        file.set_len(1 << 20).unwrap();
        file.write_all_at(b"begin", 0).unwrap();
        file.write_all_at(b"far", 500_000).unwrap();
        let all = told(&mut sender);
        assert_eq!(all.len(), 4, "{all:?}");
        assert!(
            matches!(&all[0], Message::File { name, length: 0x10_0000, is_held: false } if name == "rank-3.table")
        );
        assert!(matches!(&all[1], Message::Page { number: 0, bytes, .. } if bytes.starts_with(b"begin")));
        assert!(matches!(&all[2], Message::Page { number: 122, .. }));
        assert_eq!(told(&mut sender).len(), 1);
        file.write_all_at(b"again", 500_000).unwrap();
        file.write_all_at(&[0; 5], 0).unwrap();
        let all = told(&mut sender);
        assert!(
            matches!(&all[..], [Message::Page { number: 0, .. }, Message::Page { number: 122, .. }, _]),
            "{all:?}"
        );
        std::fs::remove_file(run.join("rank-3.table")).unwrap();
        assert!(matches!(&told(&mut sender)[..], [Message::Gone { .. }, _]));
    }
}
