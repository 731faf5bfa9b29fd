//! At the watcher: the files of all nodes in one directory, which the reader of runs reads as any.
//!
//! Where a process on a node holds its file, the mirror holds the copy, so that the reader sees that it runs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use mel_log::access;
use mel_log::table::layout::MAX_BYTES;
use mel_log::table::lock;

use super::message::{Message, PAGE};
use super::sender::is_wanted;
use mel_run::own_folder;

/// No copy gets longer.
const LONGEST: u64 = if MAX_BYTES as u64 > 1 << 30 { MAX_BYTES as u64 } else { 1 << 30 };

/// A file of a node.
#[derive(Debug)]
struct Copied {
    file: File,
    /// The node that told of it first.
    node: usize,
}

/// What directories of mirrors begin with.
const PREFIX: &str = "mel-watch-";

/// So old is a directory that no watcher holds before it is taken for that of one that was killed.
const ABANDONED: Duration = Duration::from_secs(60);

/// The copies.
#[derive(Debug)]
pub struct Mirror {
    directory: tempfile::TempDir,
    /// The directory, held as long as there is a watcher.
    _held: File,
    files: BTreeMap<String, Copied>,
}

impl Mirror {
    /// An empty one. What watchers that were killed have left is removed.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn new() -> io::Result<Mirror> {
        Mirror::new_in(&std::env::temp_dir())
    }

    fn new_in(parent: &Path) -> io::Result<Mirror> {
        remove_abandoned(parent, ABANDONED);
        let directory = own_folder(PREFIX, parent)?;
        let held = File::open(directory.path())?;
        lock::hold(&held);
        Ok(Mirror { directory, _held: held, files: BTreeMap::new() })
    }

    /// Where the copies are.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// How many files there are of a node.
    pub fn count(&self, node: usize) -> usize {
        self.files.values().filter(|copied| copied.node == node).count()
    }

    /// Does what a node has told, in one go. A file that several nodes tell of, because they share a disk, is that of the first.
    ///
    /// # Errors
    /// Those of the file system; what is told makes no sense.
    pub fn apply(&mut self, node: usize, told: Vec<Message>) -> io::Result<()> {
        let begins_anew = told.iter().any(|message| matches!(message, Message::Hello { .. }));
        let mut named = BTreeSet::new();
        let mut firsts = Vec::new();
        for message in told {
            match message {
                Message::Hello { .. } | Message::Now { .. } => {}
                Message::Gone { name } => self.remove(node, &name),
                Message::File { name, length, is_held } => {
                    check(&name, length)?;
                    if let Some(file) = self.file(node, &name)? {
                        file.set_len(length)?;
                        if is_held {
                            lock::hold(file);
                        } else {
                            lock::release(file);
                        }
                    }
                    named.insert(name);
                }
                Message::Page { name, number, bytes } => {
                    check(&name, number.saturating_add(1).saturating_mul(PAGE as u64))?;
                    if bytes.len() > PAGE {
                        return Err(nonsense("it told of a page that is longer than one"));
                    }
                    // The first page says how much there is of the others.
                    match number {
                        0 => firsts.push((name, bytes)),
                        _ => self.write(node, &name, number, &bytes)?,
                    }
                }
            }
        }
        for (name, bytes) in firsts {
            self.write(node, &name, 0, &bytes)?;
        }
        if begins_anew {
            let gone =
                self.files.iter().filter(|(name, copied)| copied.node == node && !named.contains(*name));
            let gone: Vec<String> = gone.map(|(name, _)| name.clone()).collect();
            gone.iter().for_each(|name| self.remove(node, name));
        }
        Ok(())
    }

    /// The copy of a file, made where there is none; `None` where it is another node's.
    fn file(&mut self, node: usize, name: &str) -> io::Result<Option<&File>> {
        if !self.files.contains_key(name) {
            let file = File::options()
                .read(true)
                .write(true)
                .create(true)
                .truncate(true)
                .open(self.path().join(name))?;
            self.files.insert(name.to_owned(), Copied { file, node });
        }
        Ok(self.files.get(name).filter(|copied| copied.node == node).map(|copied| &copied.file))
    }

    fn write(&self, node: usize, name: &str, number: u64, bytes: &[u8]) -> io::Result<()> {
        match self.files.get(name) {
            Some(copied) if copied.node == node => copied.file.write_all_at(bytes, number * PAGE as u64),
            _ => Ok(()),
        }
    }

    fn remove(&mut self, node: usize, name: &str) {
        if self.files.get(name).is_some_and(|copied| copied.node == node) {
            self.files.remove(name);
            let _ = std::fs::remove_file(self.path().join(name));
        }
    }
}

/// Whether a file of this name and length can be one of a run.
fn check(name: &str, length: u64) -> io::Result<()> {
    match is_wanted(name) && length <= LONGEST {
        true => Ok(()),
        false => Err(nonsense("it told of a file that no run has")),
    }
}

fn nonsense(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// Removes the directories of mirrors that nobody holds, if they are so old. What cannot be removed stays.
fn remove_abandoned(parent: &Path, age: Duration) {
    // Of whatever others may have put there, what is no directory of this user is not even opened.
    let own = |path: &Path| {
        let directory = File::options()
            .read(true)
            .custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_NONBLOCK)
            .open(path)
            .ok()?;
        let found = directory.metadata().ok()?;
        let is_old = found.modified().ok()?.elapsed().ok()? >= age;
        (found.uid() == access::user() && is_old).then_some(directory)
    };
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(PREFIX)
            && own(&entry.path()).is_some_and(|directory| lock::hold(&directory))
        {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::message::read;
    use super::super::sender::Sender;
    use super::*;
    use mel_log::table::{Identity, ProfileTable, file_name};

    fn table(directory: &Path, rank: u32) -> ProfileTable {
        let identity = Identity {
            rank,
            world_size: 2,
            ticks_per_second: 1000,
            started: 0,
            started_realtime_nanos: 1,
            runs_since: 5,
            host: format!("node-{rank}"),
        };
        ProfileTable::create(&directory.join(file_name(rank)), &identity).unwrap()
    }

    fn told(sender: &mut Sender, hello: bool) -> Vec<Message> {
        let mut bytes = Vec::new();
        sender.tell(&mut bytes).unwrap();
        let mut from = &bytes[..];
        let mut all: Vec<Message> = std::iter::from_fn(|| read(&mut from).unwrap()).collect();
        if hello {
            all.insert(0, Message::Hello { host: "node".into() });
        }
        all
    }

    #[test]
    fn what_a_killed_watcher_has_left_is_removed_and_what_is_in_use_stays() {
        let parent = tempfile::tempdir().unwrap();
        let used = Mirror::new_in(parent.path()).unwrap();
        let left = parent.path().join(format!("{PREFIX}left"));
        std::fs::create_dir(&left).unwrap();
        std::fs::write(left.join("rank-0.table"), "x").unwrap();
        remove_abandoned(parent.path(), ABANDONED);
        assert!(left.exists(), "it may be that of a watcher that begins");
        remove_abandoned(parent.path(), Duration::ZERO);
        assert!(!left.exists() && used.path().exists());
    }

    #[test]
    fn what_others_have_put_there_is_not_opened() {
        let parent = tempfile::tempdir().unwrap();
        let path = |name: &str| parent.path().join(format!("{PREFIX}{name}"));
        let pipe = std::ffi::CString::new(path("pipe").to_str().unwrap()).unwrap();
        // SAFETY: a C string.
        assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o600) }, 0);
        let elsewhere = parent.path().join("elsewhere");
        std::fs::create_dir(&elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, path("link")).unwrap();
        remove_abandoned(parent.path(), Duration::ZERO);
        assert!(elsewhere.exists() && path("link").is_symlink() && path("pipe").exists());
        let mirror = Mirror::new_in(parent.path()).unwrap();
        assert_eq!(std::fs::metadata(mirror.path()).unwrap().mode() & 0o777, 0o700);
    }

    #[test]
    fn the_copies_are_as_the_tables_of_the_nodes_and_run_while_they_run() {
        let nodes = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let mut tables = vec![table(nodes[0].path(), 0), table(nodes[1].path(), 1)];
        let mut senders = [Sender::new(nodes[0].path()), Sender::new(nodes[1].path())];
        let mut mirror = Mirror::new().unwrap();
        for (node, sender) in senders.iter_mut().enumerate() {
            mirror.apply(node, told(sender, true)).unwrap();
        }
        let read_all = |mirror: &Mirror| mel_run::profile::tables(mirror.path());
        let (rows, complaints) = read_all(&mirror);
        assert!(
            rows.len() == 2 && complaints.is_empty() && rows.iter().all(|rows| rows.is_running),
            "{complaints:?}"
        );
        // Counted further, then killed.
        let context = tables[1].add_context(mel_log::table::ContextKey { function: 3, ..Default::default() });
        tables[1].context(context).count(100);
        drop(tables.pop());
        mirror.apply(1, told(&mut senders[1], false)).unwrap();
        let (rows, _) = read_all(&mirror);
        assert_eq!((rows[0].is_running, rows[1].is_running), (true, false));
        let direct = mel_log::table::reader::read(&nodes[1].path().join(file_name(1))).unwrap();
        assert_eq!(rows[1], direct);
        // A file of one node is not that of another, and a node that begins anew forgets what it does not tell of.
        table(nodes[1].path(), 0);
        mirror.apply(1, told(&mut senders[1], false)).unwrap();
        assert!(read_all(&mirror).0[0].is_running, "the first node's");
        mirror.apply(1, vec![Message::Hello { host: "b".into() }, Message::Now { is_there: true }]).unwrap();
        assert_eq!(read_all(&mirror).0.len(), 1);
        assert_eq!((mirror.count(0), mirror.count(1)), (1, 0));
    }

    #[test]
    fn nothing_is_written_elsewhere() {
        let mut mirror = Mirror::new().unwrap();
        let file = |name: &str, length| Message::File { name: name.into(), length, is_held: false };
        for message in [
            file("../rank-0.table", 1),
            file("/etc/passwd", 1),
            file("rank-0.table", u64::MAX),
            Message::Page { name: "rank-0.table".into(), number: u64::MAX / 4096, bytes: vec![1] },
            Message::Page { name: "rank-0.table".into(), number: LONGEST / PAGE as u64, bytes: vec![1] },
            Message::Page { name: "rank-0.table".into(), number: 0, bytes: vec![1; PAGE + 1] },
        ] {
            assert!(mirror.apply(0, vec![message.clone()]).is_err(), "{message:?}");
        }
        assert_eq!(std::fs::read_dir(mirror.path()).unwrap().count(), 0);
    }

    /// Whatever is changed in what comes, it is refused or taken, and the copies stay in their directory and small.
    #[test]
    fn bytes_that_were_damaged_do_no_harm() {
        let node = tempfile::tempdir().unwrap();
        let _table = table(node.path(), 0);
        let mut whole = Vec::new();
        super::super::message::write(&mut whole, &Message::Hello { host: "b".into() }).unwrap();
        Sender::new(node.path()).tell(&mut whole).unwrap();
        let mut random = 0x9e37_79b9_7f4a_7c15u64;
        let mut next = |below: usize| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            (random % below as u64) as usize
        };
        for _ in 0..300 {
            let mut bytes = whole.clone();
            // Lengths and names are at the beginning.
            for _ in 0..3 {
                let at = if next(2) == 0 { next(200.min(bytes.len())) } else { next(bytes.len()) };
                bytes[at] = next(256) as u8;
            }
            let mut mirror = Mirror::new().unwrap();
            let mut from = &bytes[..];
            let all: Vec<Message> = std::iter::from_fn(|| read(&mut from).ok().flatten()).collect();
            let _ = mirror.apply(0, all);
            let _ = mel_run::profile::tables(mirror.path());
            assert!(std::fs::read_dir(mirror.path()).unwrap().count() <= 2);
        }
    }
}
