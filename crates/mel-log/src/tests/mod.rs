//! The event log, written and read back.

mod full_disk;
mod killed;
mod mutilated;
mod round_trip;
mod sparse_table;
mod taken_apart;
mod taken_descriptors;

use std::path::Path;
use std::process::Command;

use super::{HeaderInfo, LogFile, kind};

fn info() -> HeaderInfo {
    HeaderInfo {
        rank: 3,
        world_size: 8,
        pid: 4711,
        ticks_per_second: 2_100_000_000,
        origin_ticks: 1_000_000,
        origin_realtime_nanos: 1_790_000_000_123_456_789,
        host: "node17".into(),
    }
}

fn create(path: &Path) -> LogFile {
    LogFile::create(path, &info()).unwrap()
}

/// A payload that says which record it belongs to.
fn numbered(number: u64) -> [u8; 20] {
    let mut payload = [0xa5; 20];
    payload[..8].copy_from_slice(&number.to_le_bytes());
    payload
}

const EVENT: u16 = kind::EVENT + 7;

/// The variable that makes a child process to do its part of a test, and on which path.
const CHILD: &str = "MEL_TEST_CHILD";

/// This test program once more, running only the named test, which finds [`CHILD`] set.
fn child(test: &str, path: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "--nocapture", &format!("tests::{test}")]).env(CHILD, path);
    command
}
