//! What processes do together, along a tree: each step is a message between two of them, a process takes part in as many
//! steps as the number of processes has binary digits, and holds what its part of the tree has.
//!
//! The parent of a rank is the rank without its lowest set bit. So the ranks below a process follow it without a gap, and
//! what is merged on the way up is merged in the order of ranks.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::processes::{CommunicationError, Processes};

type Result<T> = std::result::Result<T, CommunicationError>;

/// The ranks right below this one, ascending. Below each of them are the ranks up to the next one.
pub(crate) fn children(processes: &dyn Processes) -> impl Iterator<Item = u32> + use<> {
    let (rank, size) = (processes.rank(), processes.size());
    let bits = if rank == 0 { 32 } else { rank.trailing_zeros() };
    (0..bits).map_while(move |bit| rank.checked_add(1 << bit).filter(|child| *child < size))
}

/// The rank right above this one; none for rank 0.
pub(crate) fn parent(rank: u32) -> Option<u32> {
    (rank != 0).then(|| rank & (rank - 1))
}

/// Gives all what rank 0 has.
///
/// # Errors
/// Where the communication fails.
pub(crate) fn broadcast(processes: &dyn Processes, mut bytes: Vec<u8>) -> Result<Vec<u8>> {
    if let Some(parent) = parent(processes.rank()) {
        bytes = processes.receive(parent)?;
    }
    for child in children(processes) {
        processes.send(child, bytes.clone())?;
    }
    processes.flush()?;
    Ok(bytes)
}

/// Merges what the processes have in the order of ranks, and gives the whole to all.
///
/// # Errors
/// Where the communication fails, or bytes are not what was sent.
pub fn all_reduce<T: Serialize + DeserializeOwned>(
    processes: &dyn Processes,
    own: T,
    mut merge: impl FnMut(&mut T, T),
) -> Result<T> {
    let mut all = own;
    for child in children(processes) {
        merge(&mut all, decode(&processes.receive(child)?)?);
    }
    if let Some(parent) = parent(processes.rank()) {
        processes.send(parent, encode(&all)?)?;
        all = decode(&broadcast(processes, Vec::new())?)?;
    } else if processes.size() > 1 {
        broadcast(processes, encode(&all)?)?;
    }
    Ok(all)
}

/// Brings the bytes of all processes to rank 0, one behind the other by rank; elsewhere the result is empty.
///
/// # Errors
/// Where the communication fails.
pub fn gather(processes: &dyn Processes, own: Vec<u8>) -> Result<Vec<u8>> {
    let mut all = own;
    for child in children(processes) {
        all.extend_from_slice(&processes.receive(child)?);
    }
    match parent(processes.rank()) {
        Some(parent) => {
            processes.send(parent, all)?;
            processes.flush()?;
            Ok(Vec::new())
        }
        None => Ok(all),
    }
}

/// Brings each message to its rank, in as many steps as the number of processes has binary digits: a message goes the
/// way to its rank bit by bit. Gives what was sent to this one, in no order.
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
    postcard::to_stdvec(value).map_err(|_| CommunicationError)
}

/// A value that was sent.
///
/// # Errors
/// Where the bytes are not those of such a value.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    postcard::from_bytes(bytes).map_err(|_| CommunicationError)
}

#[cfg(test)]
mod tests;
