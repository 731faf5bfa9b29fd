//! Several processes write one archive. Here they are threads, each with an archive of its own.

mod support;

use std::sync::{Arc, Barrier, Mutex};

use otf2_writer::*;

/// A group of threads that talk through a shared board.
struct Board {
    barrier: Barrier,
    slots: Vec<Mutex<Vec<u8>>>,
}

struct Member {
    board: Arc<Board>,
    rank: u32,
    /// Whether broadcasts fail.
    broken: bool,
}

impl Member {
    /// Each rank posts something, then each reads what it needs.
    fn exchange(&self, post: &[u8], read: impl FnOnce(&[Mutex<Vec<u8>>])) {
        *self.board.slots[self.rank as usize].lock().unwrap() = post.to_vec();
        self.board.barrier.wait();
        read(&self.board.slots);
        self.board.barrier.wait();
    }
}

impl Collectives for Member {
    fn size(&self) -> u32 {
        self.board.slots.len() as u32
    }

    fn rank(&self) -> u32 {
        self.rank
    }

    fn barrier(&self) -> Result<(), CollectiveError> {
        self.board.barrier.wait();
        Ok(())
    }

    fn bcast(&self, data: &mut [u8], root: u32) -> Result<(), CollectiveError> {
        if self.broken {
            return Err(CollectiveError);
        }
        let post = data.to_vec();
        self.exchange(&post, |slots| {
            data.copy_from_slice(&slots[root as usize].lock().unwrap());
        });
        Ok(())
    }

    fn gather(&self, send: &[u8], receive: &mut [u8], root: u32) -> Result<(), CollectiveError> {
        let parts = vec![send.len(); if self.rank == root { self.size() as usize } else { 0 }];
        self.gatherv(send, receive, &parts, root)
    }

    fn gatherv(
        &self,
        send: &[u8],
        receive: &mut [u8],
        receive_bytes: &[usize],
        _root: u32,
    ) -> Result<(), CollectiveError> {
        self.exchange(send, |slots| {
            let mut rest = receive;
            for (slot, &bytes) in slots.iter().zip(receive_bytes) {
                let (part, tail) = rest.split_at_mut(bytes);
                part.copy_from_slice(&slot.lock().unwrap());
                rest = tail;
            }
        });
        Ok(())
    }

    fn scatter(&self, _: &[u8], _: &mut [u8], _: u32) -> Result<(), CollectiveError> {
        Err(CollectiveError)
    }

    fn scatterv(&self, _: &[u8], _: &[usize], _: &mut [u8], _: u32) -> Result<(), CollectiveError> {
        Err(CollectiveError)
    }
}

/// Runs `process` once for each rank of a group of this size; the results are by rank.
fn run<T: Send>(size: u32, broken: bool, process: impl Fn(u32, Box<dyn Collectives>) -> T + Sync) -> Vec<T> {
    let slots = (0..size).map(|_| Mutex::default()).collect();
    let board = Arc::new(Board { barrier: Barrier::new(size as usize), slots });
    std::thread::scope(|scope| {
        let ranks: Vec<_> = (0..size)
            .map(|rank| {
                let member = Box::new(Member { board: Arc::clone(&board), rank, broken });
                let process = &process;
                scope.spawn(move || process(rank, member))
            })
            .collect();
        ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
    })
}

#[test]
fn each_writes_its_location() {
    let directory = tempfile::tempdir().unwrap();
    let results = run(2, false, |rank, collectives| {
        let mut archive = ArchiveOptions::new().collectives(collectives).create(directory.path())?;
        let (thread, send) = if rank == 0 {
            let ranks = support::two_ranks(archive.definitions_mut());
            (ranks.threads[0], ranks.send)
        } else {
            // In a real program rank 0 sends the numbers to the others.
            (LocationRef::from_raw(1), RegionRef::from_raw(0))
        };
        let mut events = archive.event_writer(thread)?;
        for time in 0..=u64::from(rank) {
            events.enter(Ticks(10 * time + u64::from(rank)), send, &[])?;
        }
        events.close()?;
        archive.finish()
    });
    for result in results {
        result.unwrap();
    }
    let region = r#"Region: "MPI_Send" <0>"#;
    let expected = ["ENTER 0 0", "ENTER 1 1", "ENTER 1 11"].map(|event| format!("{event} {region}"));
    assert_eq!(support::events(directory.path()), expected);
    let definitions = support::definitions(directory.path());
    assert!(definitions[0].contains("Global Offset: 0, Length: 12"), "{}", definitions[0]);
    for (rank, events) in [(0, 1), (1, 2)] {
        let line = format!("# Events: {events}, Group: \"MPI Rank {rank}\"");
        assert!(definitions.iter().any(|definition| definition.contains(&line)), "{line}");
    }
}

#[test]
fn all_learn_that_the_archive_exists() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(directory.path().join("traces")).unwrap();
    let results = run(2, false, |_, collectives| {
        ArchiveOptions::new().collectives(collectives).create(directory.path()).map(drop)
    });
    for result in results {
        assert!(matches!(result, Err(Error::Exists(_))), "{result:?}");
    }
}

#[test]
fn all_learn_that_the_directory_cannot_be_made() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let results = run(2, false, |_, collectives| {
        ArchiveOptions::new().collectives(collectives).create(file.path()).map(drop)
    });
    for result in results {
        assert!(matches!(result, Err(Error::Library { .. })), "{result:?}");
    }
}

#[test]
fn failing_communication_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let results = run(2, true, |_, collectives| {
        ArchiveOptions::new().collectives(collectives).create(directory.path()).map(drop)
    });
    for result in results {
        assert!(matches!(result, Err(Error::Collective { .. })), "{result:?}");
    }
}

#[test]
fn an_open_location_keeps_nobody_waiting() {
    let directory = tempfile::tempdir().unwrap();
    let results = run(2, false, |rank, collectives| {
        let mut archive = ArchiveOptions::new().collectives(collectives).create(directory.path())?;
        if rank == 0 {
            support::two_ranks(archive.definitions_mut());
        }
        let events = archive.event_writer(LocationRef::from_raw(rank.into()))?;
        if rank == 0 {
            events.close()?;
            archive.finish()
        } else {
            archive.finish().inspect_err(|_| drop(events))
        }
    });
    assert!(results[0].is_ok(), "{results:?}");
    assert!(matches!(results[1], Err(Error::LocationOpen(_))), "{results:?}");
}
