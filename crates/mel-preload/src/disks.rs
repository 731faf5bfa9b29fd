//! Whether all ranks see one directory, or nodes have disks of their own.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use mel_convert::otf2;
use mel_log::access;
use ranks::{CommunicationError, Processes, tree};

/// Which ranks do not see the directory of rank 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Apart {
    /// Whether this rank is one of them.
    is_own: bool,
    /// By host: how many.
    hosts: BTreeMap<String, u32>,
}

impl Apart {
    /// Whether all ranks see one directory.
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }
}

/// Makes the directory where this rank does not see the one that rank 0 has made: on another node, on a disk of its own.
pub fn make(directory: &Path) {
    if !directory.is_dir() {
        // If not, opening the log says so.
        let _ = access::create_directories(directory);
    }
}

/// Finds out which ranks see the directory that rank 0 writes into. All ranks call it.
///
/// # Errors
/// Where the communication fails.
pub fn find(directory: &Path, host: &str, ranks: &dyn Processes) -> Result<Apart, CommunicationError> {
    let is_first = ranks.rank() == 0;
    let token = |name: &str| -> PathBuf { directory.join(format!(".mel-{name}")) };
    // Of this job and no other one that may write at the same time into a directory of this name.
    let mut name = format!("{}-{}", std::process::id(), host.replace('/', "-"));
    if is_first && access::replace(&token(&name)).is_err() {
        name.clear();
    }
    // The name is that of rank 0, the lowest.
    name = tree::all_reduce(ranks, name, |_, _| ())?;
    if name.is_empty() {
        // Rank 0 cannot write there itself: nobody can say.
        return Ok(Apart::default());
    }
    let is_own = !token(&name).exists();
    let own = if is_own { BTreeMap::from([(host.to_owned(), 1)]) } else { BTreeMap::new() };
    let hosts = tree::all_reduce(ranks, own, |all: &mut BTreeMap<String, u32>, part| {
        part.into_iter().for_each(|(host, count)| *all.entry(host).or_default() += count);
    })?;
    if is_first {
        let _ = fs::remove_file(token(&name));
    }
    Ok(Apart { is_own, hosts })
}

/// Makes room for this rank's files of the trace on a disk that rank 0 does not see: what an earlier run has left there of a
/// trace is removed. All ranks call it where there is such a disk.
///
/// # Errors
/// Where the communication fails.
pub fn make_room(directory: &Path, apart: &Apart, ranks: &dyn Processes) -> Result<(), CommunicationError> {
    // Of the ranks that share a disk the first one tidies up, whatever their hosts are called.
    let mark = directory.join(".mel-tidy");
    if apart.is_own && access::create(&mark).is_ok() {
        let _ = otf2::remove(directory);
    }
    tree::all_reduce(ranks, (), |(), ()| ())?;
    if apart.is_own {
        // What fails here is told when the files are written.
        let _ = access::create_directory(&directory.join("traces"));
        let _ = fs::remove_file(&mark);
    }
    tree::all_reduce(ranks, (), |(), ()| ())?;
    if ranks.rank() == 0 {
        // If a file system has only been slow to show what rank 0 has written, the place is there, too: it has to be new.
        let _ = fs::remove_dir(directory.join("traces"));
    }
    Ok(())
}

/// The line for the user: what lies where, and what to do.
pub fn line(directory: &Path, apart: &Apart) -> Option<String> {
    const MOST_HOSTS: usize = 4;
    if apart.is_empty() {
        return None;
    }
    let mut hosts: Vec<&str> = apart.hosts.keys().take(MOST_HOSTS).map(String::as_str).collect();
    let more = apart.hosts.len().saturating_sub(MOST_HOSTS);
    let and_more = format!("{more} more");
    if more > 0 {
        hosts.push(&and_more);
    }
    let (ranks, path): (u32, _) = (apart.hosts.values().sum(), directory.display());
    Some(format!(
        "{path} is not shared by all nodes: the logs and traces of {ranks} ranks lie in the directory of this name \
         on {}; copy it from there and join: `mel collect {path} COPY... -o OUT`, or use -o with a shared directory",
        hosts.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ranks::{ThreadAsProcess, on_threads};

    /// Ranks on two disks, which are the same or not, of hosts of one name: how many ranks are apart.
    fn apart(directories: [&Path; 2]) -> Apart {
        let found = on_threads(5, |rank: ThreadAsProcess| {
            let node = rank.rank() as usize % 2;
            let directory = directories[node];
            make(directory);
            let apart = find(directory, "node", &rank).unwrap();
            assert_eq!(apart.is_own, node == 1 && directories[0] != directories[1]);
            if !apart.is_empty() {
                make_room(directory, &apart, &rank).unwrap();
            }
            apart
        });
        assert!(found.iter().all(|other| other.hosts == found[0].hosts), "all know the same: {found:?}");
        found[0].clone()
    }

    #[test]
    fn a_directory_that_others_do_not_see_is_noticed() {
        let room = tempfile::tempdir().unwrap();
        let [a, b] = ["a", "b"].map(|name| room.path().join(name));
        fs::create_dir(&a).unwrap();
        assert!(apart([&a, &a]).is_empty());
        assert_eq!(line(&a, &Apart::default()), None);
        fs::create_dir_all(b.join("traces")).unwrap();
        fs::write(b.join("traces/7.evt"), "of an earlier run").unwrap();
        let found = apart([&a, &b]);
        assert_eq!(found.hosts, BTreeMap::from([("node".to_owned(), 2)]));
        assert!(b.join("traces").is_dir() && !b.join("traces/7.evt").exists());
        let left = |directory: &Path| fs::read_dir(directory).unwrap().count();
        assert_eq!((left(&a), left(&b)), (0, 1), "nothing is left behind");
        let line = line(&a, &found).unwrap();
        assert!(line.contains("2 ranks") && line.contains("node") && line.contains("mel collect"), "{line}");
    }
}
