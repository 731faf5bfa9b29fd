//! Verbs: how MPI libraries let network cards of InfiniBand and RoCE move data, without a system call.
//!
//! `ibv_post_send` is a function in a header: it calls what stands in the context of a device that `ibv_open_device` has opened.
//! That function is interposed, and exchanges what stands there by a function of ours, which calls the former one and then notifies.
//! Only contexts count that a module of the MPI library, or of a transport below it, opens after [`watch`]: others stay as they are.
//! Where queue pairs lead is known from `ibv_modify_qp`, and of datagrams from `ibv_create_ah`, which are interposed, too.
//!
//! libibverbs is not linked, and may be absent or come later: its own functions are searched for at each need, behind ours, and then
//! in the library of that name that is loaded, wherever the dynamic linker's order reaches.
//!
//! What goes past: `ibv_wr_*` (operations in the queue pair), what drivers write themselves (`mlx5dv_*`, UCX's accelerated transports),
//! contexts from `mlx5dv_open_device` and `ibv_import_device`, and a libibverbs that is part of a file or was opened with
//! `RTLD_DEEPBIND`.
//!
//! With the feature `verbs` alone, which is off by default: without it none of these functions is interposed.
//!
//! Cost of a post while nobody listens: a load, a branch, and one more jump.

mod abi;
#[cfg(all(target_arch = "x86_64", feature = "verbs"))]
mod entry;
mod post;

use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::{contained, is_listened_to};

/// What is posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verb {
    /// RDMA write: data goes into the memory of the other end.
    Write,
    /// RDMA read: data comes from there.
    Read,
    /// A message for a receive of the other end.
    Send,
    /// An atomic operation on the memory of the other end.
    Atomic,
}

/// A work request that was posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Posted {
    /// What it asks for.
    pub verb: Verb,
    /// Bytes of data.
    pub bytes: u64,
    /// The address of the first byte in this process; 0 where there is none.
    pub local: u64,
    /// The address of the first byte at the other end; 0 for a message.
    pub remote: u64,
    /// What says where it goes: the queue pair, or the address handle of a datagram. As in [`Leads::way`].
    pub way: usize,
}

/// Where a queue pair or an address handle leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leads {
    /// The queue pair or the address handle.
    pub way: usize,
    /// The name of the device of this host, ended by a zero byte.
    pub device: [u8; 64],
    /// The port of that device, from 1 on.
    pub port: u8,
    /// The place of the own GID in the port's table, where addresses are global.
    pub own_gid: u8,
    /// The LID of the other end; 0 where there are none, as with RoCE.
    pub lid: u16,
    /// The GID of the other end, where addresses are global.
    pub gid: Option<[u8; 16]>,
}

/// Hears what becomes of the ways. Called inside the library, with locks of it held: it must not call MPI or verbs, or wait.
#[derive(Clone, Copy)]
pub struct Ways {
    /// A way leads there from now on, whatever it was before.
    pub leads: fn(&Leads),
    /// A way, by its number, is about to end.
    pub ends: fn(usize),
    /// A request was posted, while somebody [listens](super::listen). Also called by threads at the same time.
    pub posted: fn(&Posted),
}

/// Who hears of it, or null.
static WAYS: AtomicPtr<Ways> = AtomicPtr::new(ptr::null_mut());

/// From now on devices that the MPI library opens are watched: to be called before `MPI_Init*` opens any. Later calls do nothing.
pub fn watch(ways: &'static Ways) {
    let null = ptr::null_mut();
    let ways = ptr::from_ref(ways).cast_mut();
    let _ = WAYS.compare_exchange(null, ways, Ordering::AcqRel, Ordering::Relaxed);
}

fn ways() -> Option<&'static Ways> {
    // SAFETY: only `watch` stores here, what lives for ever and is not written to.
    unsafe { WAYS.load(Ordering::Acquire).as_ref() }
}

fn leads(leads: &Leads) {
    if let Some(ways) = ways() {
        contained(|| (ways.leads)(leads));
    }
}

fn ends(way: usize) {
    if let Some(ways) = ways() {
        contained(|| (ways.ends)(way));
    }
}

fn posted(all: &[Posted]) {
    if let Some(ways) = ways() {
        contained(|| all.iter().for_each(|posted| (ways.posted)(posted)));
    }
}

const _: () = assert!(mem::size_of::<usize>() == 8, "64-bit systems only");
