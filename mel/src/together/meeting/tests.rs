//! Processes that are threads of the test.

use super::*;
use crate::together::messages::Messages;
use mel_convert::otf2::{Processes, tree};

/// Long enough for a busy machine.
const PATIENT: Duration = Duration::from_secs(60);

/// Processes as threads of this one, which meet and do something.
fn meet<T: Send>(
    folder: &Path,
    size: u32,
    process: impl Fn(anyhow::Result<Option<Together>>) -> T + Sync,
) -> Vec<T> {
    thread::scope(|scope| {
        let process = &process;
        let all: Vec<_> = (0..size)
            .map(|number| {
                scope.spawn(move || {
                    let meeting = Meeting { folder, process: number, size, patience: PATIENT };
                    process(meeting.begin(|_| Ok((100, vec![0, 1, 99]))))
                })
            })
            .collect();
        all.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

#[test]
fn what_an_earlier_try_has_left_is_of_nobody() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("traces.unfinished");
    fs::create_dir(&folder).unwrap();
    let stale = Hello { outbox: "stale".into(), cores: 1, ..Hello::default() };
    (0..3).for_each(|process| write(&folder.join(format!("hello-{process}")), &stale).unwrap());
    write(&folder.join("plan"), &Plan { all: vec![stale; 3], ..Plan::default() }).unwrap();
    let sums = meet(&folder, 3, |together| {
        let together = Arc::new(together.unwrap().unwrap());
        assert_eq!(together.plan().logs.iter().sum::<u32>(), 3);
        let threads = Messages::group(&together);
        let sums: Vec<u32> = thread::scope(|scope| {
            let sum = |thread: Messages| {
                tree::all_reduce(&thread, thread.rank(), |all, part| *all += part).unwrap()
            };
            let all: Vec<_> = threads.into_iter().map(|thread| scope.spawn(move || sum(thread))).collect();
            all.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        (sums, together.plan().size())
    });
    for (sums, size) in sums {
        assert!(!sums.is_empty() && sums.iter().all(|sum| *sum == size * (size - 1) / 2), "{sums:?}");
    }
    assert!(!folder.exists());
}

#[test]
fn nobody_waits_for_one_that_has_failed() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("traces.unfinished");
    let told = meet(&folder, 3, |together| {
        let together = Arc::new(together.unwrap().unwrap());
        if together.process() == 2 {
            together.fail("it has no logs");
            return together.failure();
        }
        for thread in Messages::group(&together) {
            let _ = tree::all_reduce(&thread, (), |(), ()| ());
        }
        together.failure()
    });
    assert_eq!(told, vec![Some("it has no logs".to_owned()); 3]);
    assert!(!folder.exists());
}
