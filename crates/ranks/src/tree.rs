//! What processes do together, along a binomial tree: each step is a message between two of them, a process
//! takes part in as many steps as the number of processes has binary digits, and holds what its part of the
//! tree has.
//!
//! The parent of a rank is the rank without its lowest set bit. So the ranks below a process follow it
//! without a gap, and what is merged on the way up is merged in the order of ranks.
//!
//! What travels as a value is encoded by [`encode`], in the compact form of `postcard`: the same program
//! writes and reads it. A type whose JSON leaves fields out (`skip_serializing_if`) cannot travel so.

use std::ops::Range;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{CommunicationError, Processes};

type Result<T> = std::result::Result<T, CommunicationError>;

/// The place of a rank in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tree {
    /// The rank.
    pub rank: u32,
    /// The number of ranks.
    pub size: u32,
}

impl Tree {
    /// The place of this process.
    pub fn of(processes: &dyn Processes) -> Tree {
        Tree { rank: processes.rank(), size: processes.size() }
    }

    /// The rank right above; none for rank 0.
    pub fn parent(self) -> Option<u32> {
        (self.rank > 0).then(|| self.rank & (self.rank - 1))
    }

    /// This rank and those below it.
    pub fn below(self) -> Range<u32> {
        let wide = if self.rank == 0 { self.size } else { 1 << self.rank.trailing_zeros() };
        self.rank..self.size.min(self.rank.saturating_add(wide))
    }

    /// The ranks right below, ascending, each with all that are below it.
    pub fn children(self) -> impl Iterator<Item = Range<u32>> {
        let bits = if self.rank == 0 { u32::BITS } else { self.rank.trailing_zeros() };
        let child = move |bit| self.rank.checked_add(1u32 << bit).filter(|child| *child < self.size);
        (0..bits).map_while(child).map(move |rank| Tree { rank, ..self }.below())
    }
}

/// Gives all what rank 0 has.
///
/// # Errors
/// Where the communication fails.
pub fn broadcast(processes: &dyn Processes, mut bytes: Vec<u8>) -> Result<Vec<u8>> {
    let tree = Tree::of(processes);
    if let Some(parent) = tree.parent() {
        bytes = processes.receive(parent)?;
    }
    // Those with the most ranks below them first.
    let children: Vec<Range<u32>> = tree.children().collect();
    for below in children.into_iter().rev() {
        processes.send(below.start, bytes.clone())?;
    }
    processes.flush()?;
    Ok(bytes)
}

/// Merges what the processes have in the order of ranks; rank 0 has the whole.
///
/// # Errors
/// Where the communication fails, or bytes are not what was sent.
pub fn reduce<T: Serialize + DeserializeOwned>(
    processes: &dyn Processes,
    own: T,
    mut merge: impl FnMut(&mut T, T),
) -> Result<Option<T>> {
    let (tree, mut all) = (Tree::of(processes), own);
    for below in tree.children() {
        merge(&mut all, decode(&processes.receive(below.start)?)?);
    }
    let Some(parent) = tree.parent() else { return Ok(Some(all)) };
    processes.send(parent, encode(&all)?)?;
    processes.flush()?;
    Ok(None)
}

/// Merges what the processes have in the order of ranks, and gives the whole to all.
///
/// # Errors
/// Where the communication fails, or bytes are not what was sent.
pub fn all_reduce<T: Serialize + DeserializeOwned>(
    processes: &dyn Processes,
    own: T,
    merge: impl FnMut(&mut T, T),
) -> Result<T> {
    let all = reduce(processes, own, merge)?;
    let bytes = match &all {
        Some(all) if processes.size() > 1 => encode(all)?,
        _ => Vec::new(),
    };
    let bytes = broadcast(processes, bytes)?;
    all.map_or_else(|| decode(&bytes), Ok)
}

/// Brings the bytes of all processes to rank 0, one behind the other by rank; elsewhere the result is empty.
///
/// # Errors
/// Where the communication fails.
pub fn gather(processes: &dyn Processes, own: Vec<u8>) -> Result<Vec<u8>> {
    let (tree, mut all) = (Tree::of(processes), own);
    for below in tree.children() {
        all.extend_from_slice(&processes.receive(below.start)?);
    }
    let Some(parent) = tree.parent() else { return Ok(all) };
    pass_on(processes, parent, all)?;
    Ok(Vec::new())
}

/// Brings bytes of each process to rank 0, which handles them one by one, by rank ascending. A process keeps
/// those of one rank at a time.
///
/// # Errors
/// Where the communication fails.
pub fn relay(processes: &dyn Processes, own: Vec<u8>, mut handle: impl FnMut(u32, Vec<u8>)) -> Result<()> {
    let tree = Tree::of(processes);
    let mut take = |rank, bytes| match tree.parent() {
        None => {
            handle(rank, bytes);
            Ok(())
        }
        Some(parent) => pass_on(processes, parent, bytes),
    };
    take(tree.rank, own)?;
    for below in tree.children() {
        let child = below.start;
        for rank in below {
            take(rank, processes.receive(child)?)?;
        }
    }
    Ok(())
}

/// From how many bytes on what is [streamed](stream) is passed on.
const KEPT: usize = 1 << 20;

/// Brings bytes of each process, of all the same number and at least one, to rank 0, which handles those of
/// consecutive ranks at a time: the first of these, and their bytes. A process keeps at most about a MiB.
///
/// # Errors
/// Where the communication fails.
pub fn stream(processes: &dyn Processes, own: Vec<u8>, mut handle: impl FnMut(u32, &[u8])) -> Result<()> {
    let (tree, each) = (Tree::of(processes), own.len().max(1));
    let mut take = |first, bytes: Vec<u8>| match tree.parent() {
        None => {
            handle(first, &bytes);
            Ok(())
        }
        Some(parent) => pass_on(processes, parent, bytes),
    };
    let (mut first, mut kept) = (tree.rank, own);
    for below in tree.children() {
        let mut missing = below.len() * each;
        while missing > 0 {
            let more = processes.receive(below.start)?;
            missing = missing.saturating_sub(more.len().max(1));
            kept.extend(more);
            if kept.len() >= KEPT {
                let ranks = (kept.len() / each) as u32;
                take(first, std::mem::take(&mut kept))?;
                first += ranks;
            }
        }
    }
    if kept.is_empty() { Ok(()) } else { take(first, kept) }
}

/// Sends bytes, and waits until they are on their way: nothing piles up where the parent is slower.
fn pass_on(processes: &dyn Processes, parent: u32, bytes: Vec<u8>) -> Result<()> {
    processes.send(parent, bytes)?;
    processes.flush()
}

/// Brings each message to its rank, in as many steps as the number of processes has binary digits: a message
/// goes the way to its rank bit by bit. Gives what was sent to this one, in no order.
///
/// # Errors
/// Where the communication fails, or bytes are not what was sent.
pub fn route(processes: &dyn Processes, messages: Vec<(u32, Vec<u8>)>) -> Result<Vec<Vec<u8>>> {
    let (rank, size) = (processes.rank(), processes.size());
    let mut under_way = messages;
    let mut step = 1;
    while step < size {
        let distance = |to: u32| (to % size + size - rank) % size;
        let (go, stay): (Vec<_>, Vec<_>) =
            under_way.into_iter().partition(|(to, _)| distance(*to) & step != 0);
        processes.send((rank + step) % size, encode(&go)?)?;
        let come: Vec<(u32, Vec<u8>)> = decode(&processes.receive((rank + size - step) % size)?)?;
        under_way = stay;
        under_way.extend(come);
        step <<= 1;
    }
    processes.flush()?;
    Ok(under_way.into_iter().map(|(_, bytes)| bytes).collect())
}

/// A value as bytes, to be sent.
///
/// # Errors
/// Where the value cannot be encoded: one of a length that is not known.
pub fn encode<T: Serialize>(value: &T) -> Result<Vec<u8>> {
    postcard::to_stdvec(value).map_err(CommunicationError::of)
}

/// A value that was sent.
///
/// # Errors
/// Where the bytes are not those of such a value.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    decode_first(bytes).map(|(value, _)| value)
}

/// The first of values that were encoded one behind the other, and the bytes of the others.
///
/// # Errors
/// Where the bytes do not begin with those of such a value.
pub fn decode_first<T: DeserializeOwned>(bytes: &[u8]) -> Result<(T, &[u8])> {
    postcard::take_from_bytes(bytes).map_err(CommunicationError::of)
}
