//! How large the logs of a run become: warnings while they grow, each time that they have doubled.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use mel_log::number::general;

/// Checks the logs of all processes now and then, on one of them.
#[derive(Debug)]
pub struct Growth {
    directory: PathBuf,
    /// How large the own log is when it is time to check again, in bytes.
    check_at: AtomicU64,
    /// How large all logs are when it is time to warn again, in bytes.
    warn_at: AtomicU64,
}

impl Growth {
    /// Warnings of the logs in this directory from so many bytes on; never if that is zero.
    pub fn new(directory: PathBuf, from: u64) -> Growth {
        let warn_at = if from == 0 { u64::MAX } else { from };
        Growth { directory, check_at: AtomicU64::new(0), warn_at: AtomicU64::new(warn_at) }
    }

    /// The own log has so many bytes: a line for the user, if it is time for one. Reads their sizes only when the own log
    /// has become an eighth larger.
    pub fn check(&self, own: u64) -> Option<String> {
        if own < self.check_at.load(Ordering::Relaxed) {
            return None;
        }
        self.check_at.store(own + own / 8 + 1, Ordering::Relaxed);
        let files = fs::read_dir(&self.directory).ok()?.filter_map(Result::ok);
        let logs = files.filter(|file| file.file_name().to_str().is_some_and(|name| name.ends_with(".mlog")));
        let sizes: Vec<u64> = logs.filter_map(|file| Some(file.metadata().ok()?.len())).collect();
        let (ranks, bytes) = (sizes.len(), sizes.iter().sum::<u64>());
        let warn_at = self.warn_at.load(Ordering::Relaxed);
        if bytes < warn_at {
            return None;
        }
        let mut next = warn_at;
        while next <= bytes {
            next = next.saturating_mul(2);
        }
        self.warn_at.store(next, Ordering::Relaxed);
        let size = general(bytes as f64 / f64::from(1 << 20));
        Some(format!(
            "the event logs of {ranks} ranks have {size} MiB by now; --limit, --no-calls, --only-comms and --paused keep \
             them small"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_warning_when_it_has_doubled() {
        let room = tempfile::tempdir().unwrap();
        let grow = |rank: u32, bytes: usize| {
            fs::write(room.path().join(format!("rank-{rank}.mlog")), vec![0; bytes]).unwrap();
        };
        let growth = Growth::new(room.path().into(), 2 << 20);
        grow(0, 1 << 20);
        assert_eq!(growth.check(1 << 20), None);
        grow(1, 3 << 20);
        assert_eq!(growth.check(1 << 20), None, "the own log has not grown");
        let line = growth.check(2 << 20).unwrap();
        assert!(line.starts_with("the event logs of 2 ranks have 4 MiB"), "{line}");
        assert_eq!(growth.check(3 << 20), None);
        grow(0, 6 << 20);
        assert!(growth.check(6 << 20).unwrap().contains("9 MiB"));
        assert_eq!(Growth::new(room.path().into(), 0).check(6 << 20), None);
    }
}
