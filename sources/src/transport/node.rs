//! Which processes are of one node: those that can open each other's memory.

use std::hash::Hasher;

use rustc_hash::FxHasher;

/// A hash that the processes of one node, and of one process namespace in it, have in common.
/// Processes of different nodes differ, because every start of a kernel gets an identity of its own.
///
/// Where the kernel tells none (no `/proc`), it is that of the host's name.
pub fn node_identity() -> [i32; 2] {
    let boot = std::fs::read("/proc/sys/kernel/random/boot_id");
    let name = || std::fs::read("/proc/sys/kernel/hostname").unwrap_or_default();
    let namespace = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    let mut hash = FxHasher::default();
    hash.write(&boot.unwrap_or_else(|_| name()));
    hash.write(namespace.as_os_str().as_encoded_bytes());
    let hash = hash.finish();
    [hash as i32, (hash >> 32) as i32]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_stays_the_same() {
        assert_eq!(node_identity(), node_identity());
        assert_ne!(node_identity(), [0, 0]);
    }
}
