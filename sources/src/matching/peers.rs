//! What a communicator keeps for each peer, made when the peer is first met.
//!
//! Cost: four bytes for each rank up to the highest one met, and one [`Peer`] for each one met.

use super::queues::List;

const NOT_MET: u32 = u32::MAX;

/// A process that has sent, or that a receive names.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peer {
    /// Receives posted for this source.
    pub(super) posted: List,
    /// Its messages that no receive has taken yet.
    pub(super) unexpected: List,
    /// The sequence number of the next envelope: the first one is 1.
    pub(super) expected: u32,
    /// Envelopes that are known to be lost and whose receives have not completed yet.
    pub(super) lost: u32,
}

#[derive(Debug, Default)]
pub(super) struct Peers {
    places: Vec<u32>,
    met: Vec<Peer>,
}

impl Peers {
    #[inline]
    pub(super) fn get(&self, rank: i32) -> Option<&Peer> {
        self.met.get(*self.places.get(usize::try_from(rank).ok()?)? as usize)
    }

    /// The peer of this rank, which must not be negative.
    #[inline]
    pub(super) fn meet(&mut self, rank: i32) -> &mut Peer {
        let rank = usize::try_from(rank).unwrap_or(0);
        let place = match self.places.get(rank) {
            Some(&place) if place != NOT_MET => place as usize,
            _ => self.make(rank),
        };
        &mut self.met[place]
    }

    #[cold]
    fn make(&mut self, rank: usize) -> usize {
        if rank >= self.places.len() {
            self.places.resize(rank + 1, NOT_MET);
        }
        self.met.push(Peer { posted: List::EMPTY, unexpected: List::EMPTY, expected: 1, lost: 0 });
        self.places[rank] = (self.met.len() - 1) as u32;
        self.met.len() - 1
    }

    /// All peers met, by rank, starting after `last` and ending with it.
    pub(super) fn in_turn_after(&self, last: i32) -> impl Iterator<Item = (i32, &Peer)> {
        let split = usize::try_from(last + 1).unwrap_or(0).min(self.places.len());
        let (before, after) = self.places.split_at(split);
        let number = |offset: usize| move |(index, place): (usize, &u32)| ((index + offset) as i32, *place);
        after
            .iter()
            .enumerate()
            .map(number(split))
            .chain(before.iter().enumerate().map(number(0)))
            .filter_map(|(rank, place)| Some((rank, self.met.get(place as usize)?)))
    }

    /// Whether no peer has anything queued.
    pub(super) fn are_idle(&self) -> bool {
        self.met.iter().all(|peer| peer.posted.is_empty() && peer.unexpected.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_come_in_turn() {
        let mut peers = Peers::default();
        for rank in [5, 0, 3] {
            peers.meet(rank);
        }
        let turn = |last| peers.in_turn_after(last).map(|(rank, _)| rank).collect::<Vec<_>>();
        assert_eq!(turn(-1), [0, 3, 5]);
        assert_eq!(turn(0), [3, 5, 0]);
        assert_eq!(turn(3), [5, 0, 3]);
        assert_eq!(turn(9), [0, 3, 5]);
    }
}
