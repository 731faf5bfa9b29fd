//! Which processes are of one node: those that may open each other's memory, and have one clock.

use std::hash::Hasher;

use mpit_events::Clock;
use rustc_hash::FxHasher;

/// A hash that the processes of one node have in common which see each other in one table of processes (containers
/// have tables of their own) and read the same clock. Processes of different nodes differ, because every start of a
/// kernel gets an identity of its own.
///
/// Where the kernel has none (no `/proc`), it is that of the host's name.
pub fn node_identity(clock: Clock) -> [i32; 2] {
    let boot = std::fs::read("/proc/sys/kernel/random/boot_id");
    let name = || std::fs::read("/proc/sys/kernel/hostname").unwrap_or_default();
    let namespace = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    let mut hash = FxHasher::default();
    hash.write(&boot.unwrap_or_else(|_| name()));
    hash.write(namespace.as_os_str().as_encoded_bytes());
    hash.write_u8(u8::from(clock == Clock::Monotonic));
    if clock == Clock::Monotonic {
        // It has an offset in each time namespace; the time stamp counter has none.
        let namespace = std::fs::read_link("/proc/self/ns/time").unwrap_or_default();
        hash.write(namespace.as_os_str().as_encoded_bytes());
    }
    let hash = hash.finish();
    [hash as i32, (hash >> 32) as i32]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_stays_the_same_for_one_clock() {
        let identity = node_identity(Clock::Monotonic);
        assert_eq!(identity, node_identity(Clock::Monotonic));
        assert_ne!(identity, [0, 0]);
        assert_ne!(identity, node_identity(Clock::Tsc));
    }
}
