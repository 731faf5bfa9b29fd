//! Who does what.

use std::collections::BTreeMap;
use std::fs;
use std::thread;

use mel_convert::otf2::Share;
use serde::{Deserialize, Serialize};

use super::life::Identity;

/// What a process says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Hello {
    pub(super) identity: Identity,
    /// Its file in the folder: the name is that of no other process, of this try or an earlier one.
    pub(super) outbox: String,
    /// Processors that it may use.
    pub(super) cores: u32,
    /// Which: processes of a node that may use the same share them.
    pub(super) of: String,
}

impl Hello {
    pub(super) fn here(process: u32) -> Hello {
        let identity = Identity::here();
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let of = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed:")).unwrap_or_default();
        let now = std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_nanos());
        Hello {
            outbox: format!("of-{process}-{}-{now}", identity.pid),
            identity,
            cores: thread::available_parallelism().map_or(1, |cores| cores.get() as u32),
            of: of.trim().to_owned(),
        }
    }
}

/// Who does what.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    pub(super) all: Vec<Hello>,
    /// Threads of each process; 0 where there is nothing left for it to do.
    pub(super) threads: Vec<u32>,
    /// Number of ranks of the run.
    pub world: u32,
    /// The event logs that each process must find.
    pub logs: Vec<u32>,
    /// Process 0 does not begin. It has said why.
    pub(super) is_refused: bool,
}

impl Plan {
    /// Number of threads of all processes.
    pub fn size(&self) -> u32 {
        self.threads.iter().sum()
    }

    /// The threads of a process, by their numbers among those of all.
    pub fn threads(&self, process: u32) -> std::ops::Range<u32> {
        let first = self.threads.iter().take(process as usize).sum();
        first..first + self.threads.get(process as usize).copied().unwrap_or(0)
    }

    /// The process of a thread.
    pub fn process_of(&self, thread: u32) -> u32 {
        let mut end = 0;
        let place = self.threads.iter().position(|threads| {
            end += threads;
            thread < end
        });
        place.unwrap_or(0) as u32
    }

    /// The ranks of the run that the threads of a process convert.
    pub fn ranks(&self, process: u32) -> std::ops::Range<u32> {
        let threads = self.threads(process);
        let first = |thread: u32| match thread < self.size() {
            true => Share::ranks_of(thread, self.size(), self.world).start,
            false => self.world,
        };
        first(threads.start)..first(threads.end)
    }

    /// Processes that share processors share them out; more threads than ranks are none.
    pub(super) fn with_threads(mut self) -> Plan {
        let place = |hello: &Hello| (hello.identity.host.clone(), hello.of.clone());
        let mut sharing = BTreeMap::<_, u32>::new();
        self.all.iter().for_each(|hello| *sharing.entry(place(hello)).or_default() += 1);
        let each = |hello: &Hello| (hello.cores / sharing[&place(hello)]).max(1);
        let wanted: Vec<u32> = self.all.iter().map(each).collect();
        let most = self.world.max(1);
        if wanted.iter().sum::<u32>() <= most {
            self.threads = wanted;
            return self;
        }
        // One for each process before a second one for any.
        self.threads = vec![0; wanted.len()];
        let mut left = most;
        while left > 0 {
            for (threads, wanted) in self.threads.iter_mut().zip(&wanted) {
                if left > 0 && *threads < *wanted {
                    *threads += 1;
                    left -= 1;
                }
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello(host: &str, of: &str, cores: u32) -> Hello {
        let identity = Identity { host: host.into(), ..Identity::default() };
        Hello { identity, outbox: String::new(), cores, of: of.into() }
    }

    fn threads(all: &[Hello], world: u32) -> Vec<u32> {
        Plan { all: all.to_vec(), world, ..Plan::default() }.with_threads().threads
    }

    #[test]
    fn processes_that_share_processors_share_them_out() {
        let (bound, free) = (|of| hello("a", of, 1), hello("a", "f", 8));
        assert_eq!(threads(&[bound("1"), bound("2")], 100), [1, 1]);
        assert_eq!(threads(&[free.clone(), free.clone()], 100), [4, 4]);
        assert_eq!(threads(&[free.clone(), hello("b", "f", 8)], 100), [8, 8]);
        assert_eq!(threads(&vec![hello("a", "3", 2); 3], 100), [1, 1, 1]);
        assert_eq!(threads(&[free.clone(), hello("b", "f", 8)], 11), [6, 5], "no more than there are ranks");
        assert_eq!(threads(&vec![free; 4], 2), [1, 1, 0, 0]);
    }

    #[test]
    fn each_rank_has_a_process() {
        for (threads, world) in
            [(vec![1, 1, 1], 8), (vec![2, 3], 8), (vec![1, 1, 0], 2), (vec![4, 4], 8), (vec![1], 5)]
        {
            let plan = Plan { threads, world, ..Plan::default() };
            let processes = 0..plan.threads.len() as u32;
            let ranks: Vec<u32> = processes.clone().flat_map(|process| plan.ranks(process)).collect();
            assert_eq!(ranks, (0..world).collect::<Vec<_>>(), "{plan:?}");
            for process in processes {
                assert!(plan.threads(process).all(|thread| plan.process_of(thread) == process), "{plan:?}");
            }
        }
    }
}
