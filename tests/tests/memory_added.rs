//! What the queue profile adds to the memory of each rank.
//!
//! Counted is what the kernel says of the whole process (`programs/special/memory.c`), under MEL less without, at the end of a
//! run of four ranks that have all used each other's buffers. It contains the pages of the library itself. `pss` counts a page
//! that n processes share as one n-th for each, so that the sum over the ranks is what the node has to hold. `dirty`, the
//! memory that was written, counts shared pages in full for each rank, and no pages of files that were only read.

use std::collections::BTreeMap;

use mel_tests::artifacts::fresh_dir;
use mel_tests::{Finished, Job, Mpi, compile_special};

const RANKS: u32 = 4;
const LIMIT_KIB: i64 = 8 * 1024;

/// Pss and dirty memory in KiB by rank, from lines such as `rank 2 pss 5415 dirty 3624`.
fn memory(run: &Finished) -> BTreeMap<u32, [i64; 2]> {
    let ranks: BTreeMap<u32, [i64; 2]> = run
        .stdout
        .lines()
        .filter_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let ["rank", rank, "pss", pss, "dirty", dirty] = words[..] else { return None };
            Some((rank.parse().ok()?, [pss.parse().ok()?, dirty.parse().ok()?]))
        })
        .collect();
    run.expect(run.code == Some(0) && ranks.len() == RANKS as usize, "not one line per rank");
    ranks
}

#[test]
#[ignore = "slow"]
fn at_most_8_mib_per_rank() {
    for mpi in &Mpi::all() {
        let executable = compile_special(mpi, "memory");
        let plain = memory(&Job::new(mpi, RANKS, &executable).run());
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let options = ["-o".as_ref(), output.as_os_str()];
        let watched = memory(&Job::new(mpi, RANKS, &executable).under_mel(options).run());
        for (rank, [pss, dirty]) in watched {
            let [plain_pss, plain_dirty] = plain[&rank];
            let added = [pss - plain_pss, dirty - plain_dirty];
            println!("{}: rank {rank}: pss +{} KiB, dirty +{} KiB", mpi.name, added[0], added[1]);
            assert!(added.iter().all(|&added| added <= LIMIT_KIB), "{}: rank {rank}: {added:?}", mpi.name);
            // Otherwise something else was measured than a run under MEL.
            assert!(added[0] > 0 && added[1] > 0, "{}: rank {rank}: {added:?}", mpi.name);
        }
    }
}
