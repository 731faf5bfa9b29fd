//! Whether another process lives.

use std::fs;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::outbox::Reader;

/// A process, as others know it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The node, for people.
    pub host: String,
    /// Processes with the same of it see each other by their numbers: those of one kernel, and of one container.
    pub(super) kernel: String,
    /// Its number.
    pub pid: u32,
    /// When it was started: another one may get its number later.
    pub(super) started: u64,
}

impl Identity {
    /// That of this process.
    pub fn here() -> Identity {
        static HERE: OnceLock<Identity> = OnceLock::new();
        let here = || {
            let text = |path| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
            let space = fs::read_link("/proc/self/ns/pid").map(|link| link.display().to_string());
            let pid = std::process::id();
            Identity {
                host: text("/proc/sys/kernel/hostname"),
                kernel: format!("{} {}", text("/proc/sys/kernel/random/boot_id"), space.unwrap_or_default()),
                pid,
                started: state(pid).map_or(0, |(_, started)| started),
            }
        };
        HERE.get_or_init(here).clone()
    }

    /// Whether it is known that the process has ended; false where that cannot be seen from here.
    pub fn has_ended(&self) -> bool {
        let Identity { kernel, started, .. } = Identity::here();
        if started == 0 || self.started == 0 || kernel != self.kernel {
            return false;
        }
        match state(self.pid) {
            None => true,
            Some((state, started)) => matches!(state, 'Z' | 'X') || started != self.started,
        }
    }
}

/// The state of a process as one letter, and when it was started.
fn state(pid: u32) -> Option<(char, u64)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold anything; the state follows, and the start is the 22nd field.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    Some((fields.next()?.chars().next()?, fields.nth(18)?.parse().ok()?))
}

/// How long a process has not been heard of.
#[derive(Debug)]
pub struct Watch {
    identity: Identity,
    bytes: u64,
    heard: Instant,
    looked: Option<Instant>,
    has_ended: bool,
}

/// A look at another process takes some calls of the system.
const LOOKS: Duration = Duration::from_millis(100);

impl Watch {
    /// Begins to watch.
    pub fn new(identity: Identity) -> Watch {
        Watch { identity, bytes: 0, heard: Instant::now(), looked: None, has_ended: false }
    }

    /// Begins anew: nobody has looked for a while.
    pub fn begin(&mut self) {
        self.heard = Instant::now();
    }

    /// Whether the process has ended or, as far as can be seen from here, does nothing any more: its file has not grown for so long.
    pub fn is_over(&mut self, outbox: &Reader, patience: Duration) -> bool {
        let bytes = outbox.bytes();
        if bytes != self.bytes {
            (self.bytes, self.heard) = (bytes, Instant::now());
        }
        if self.looked.is_none_or(|looked| looked.elapsed() >= LOOKS) {
            self.looked = Some(Instant::now());
            self.has_ended = self.identity.has_ended();
        }
        self.has_ended || self.heard.elapsed() > patience
    }

    /// What has become of it, after `is_over`.
    pub fn told(&self, process: u32, size: u32) -> String {
        let Identity { host, pid, .. } = &self.identity;
        let who = format!("process {process} of {size} ({pid} on {host})");
        match self.has_ended {
            true => format!("{who} has ended"),
            false => format!("{who} has given no sign of life for {} s", self.heard.elapsed().as_secs()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_process_that_has_ended_is_known_on_its_node_alone() {
        let here = Identity::here();
        assert!(!here.has_ended());
        assert!(
            Identity { started: here.started + 1, ..here.clone() }.has_ended(),
            "another one has its number"
        );
        let mut child = Command::new("true").spawn().unwrap();
        let (pid, started) = (child.id(), state(child.id()).unwrap().1);
        let other = Identity { pid, started, ..here };
        // It stays until somebody asks how it has ended.
        while !other.has_ended() {
            std::thread::sleep(Duration::from_millis(1));
        }
        child.wait().unwrap();
        assert!(other.has_ended());
        assert!(!Identity { kernel: "another node".into(), ..other }.has_ended());
    }
}
