//! The memory of other processes: which are of one node, whether MPI may read it, and how long that takes.
//!
//! Where it may, Open MPI copies a long message out of the sender's memory in one go; where it may not, the message comes in pieces
//! (`mca_btl_vader_check_single_copy`, Open MPI 4.1).

use std::hash::Hasher;
use std::io;

use mpit_events::Clock;
use rustc_hash::FxHasher;

/// With these values of the parameter `btl_vader_single_copy_mechanism` long messages come in pieces. Images for containers set it,
/// and `mpirun --mca` hands it on.
const IN_PIECES: [&str; 2] = ["none", "emulated"];

/// Whether Open MPI may read the memory of a process of this node.
pub(crate) fn may_be_read(pid: i32) -> bool {
    let mechanism = std::env::var("OMPI_MCA_btl_vader_single_copy_mechanism").ok();
    !is_in_pieces(mechanism.as_deref()) && system_allows(pid)
}

fn is_in_pieces(mechanism: Option<&str>) -> bool {
    mechanism.is_some_and(|mechanism| IN_PIECES.contains(&mechanism))
}

/// Whether the system lets this process read the memory of another one.
///
/// Asks for a byte where no process has memory: who may not read gets another answer than who reads there.
pub fn system_allows(pid: i32) -> bool {
    let mut byte = 0u8;
    let nowhere = libc::iovec { iov_base: std::ptr::without_provenance_mut(1), iov_len: 1 };
    match read(pid, std::slice::from_mut(&mut byte), &nowhere) {
        Ok(_) => true,
        Err(error) => error.raw_os_error() == Some(libc::EFAULT),
    }
}

/// Ticks of the clock in which 64 KiB are copied: of this process's own memory, the way another one's is where the system
/// has that.
pub(crate) fn time_of_64_kib(clock: Clock) -> u64 {
    const BYTES: usize = 1 << 16;
    let (mut from, mut to) = (vec![1u8; 4 * BYTES], vec![0u8; BYTES]);
    let time_one = |from: &mut [u8]| {
        let remote = libc::iovec { iov_base: from.as_mut_ptr().cast(), iov_len: from.len() };
        let begin = clock.now();
        if read(std::process::id() as i32, &mut to, &remote).is_err() {
            to.copy_from_slice(from);
        }
        let took = clock.now().since(begin);
        std::hint::black_box(&to);
        took
    };
    from.chunks_mut(BYTES).map(time_one).min().unwrap_or(0)
}

/// Reads another process's memory.
fn read(pid: i32, to: &mut [u8], remote: &libc::iovec) -> io::Result<usize> {
    let local = libc::iovec { iov_base: to.as_mut_ptr().cast(), iov_len: to.len() };
    // SAFETY: what is written to is the caller's; where is read from, the system checks.
    let read = unsafe { libc::process_vm_readv(pid, &raw const local, 1, remote, 1, 0) };
    usize::try_from(read).map_err(|_| io::Error::last_os_error())
}

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
    fn a_process_may_read_its_own_memory_and_none_that_is_not_there() {
        // Some sandboxes forbid the call altogether; then it is forbidden here, too.
        let mut to = [0u8; 4];
        let mut from = *b"mpi!";
        let remote = libc::iovec { iov_base: from.as_mut_ptr().cast(), iov_len: from.len() };
        let own = std::process::id() as i32;
        let reads = read(own, &mut to, &remote).is_ok();
        assert_eq!(system_allows(own), reads);
        assert!(!reads || to == from);
        assert!(!system_allows(i32::MAX), "there is no such process");
    }

    #[test]
    fn the_parameter_of_open_mpi_is_followed() {
        assert!(is_in_pieces(Some("none")) && is_in_pieces(Some("emulated")));
        assert!(!is_in_pieces(Some("cma")) && !is_in_pieces(None));
    }

    #[test]
    fn copying_takes_time() {
        assert!(time_of_64_kib(Clock::best()) > 0);
    }

    #[test]
    fn a_node_stays_the_same_for_one_clock() {
        let identity = node_identity(Clock::Monotonic);
        assert_eq!(identity, node_identity(Clock::Monotonic));
        assert_ne!(identity, [0, 0]);
        assert_ne!(identity, node_identity(Clock::Tsc));
    }
}
