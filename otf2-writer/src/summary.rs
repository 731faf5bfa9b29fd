//! What each location came to hold: needed by the global definitions, at the end.

use crate::{clock::Ticks, collectives::Collectives, error::Error, refs::LocationRef};

/// The events of one location, when it is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LocationSummary {
    pub(crate) location: LocationRef,
    pub(crate) events: u64,
    /// Times of the first and the last event; meaningless where there are no events.
    pub(crate) first: Ticks,
    pub(crate) last: Ticks,
}

const RECORD_BYTES: usize = 4 * size_of::<u64>();

impl LocationSummary {
    fn encode(&self) -> [u8; RECORD_BYTES] {
        let words = [self.location.raw(), self.events, self.first.0, self.last.0];
        let mut bytes = [0; RECORD_BYTES];
        for (slot, word) in bytes.chunks_exact_mut(8).zip(words) {
            slot.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    fn decode(bytes: &[u8]) -> Self {
        let mut words = [0; 4];
        for (word, slot) in words.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = slot.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
        }
        let [location, events, first, last] = words;
        Self { location: LocationRef(location), events, first: Ticks(first), last: Ticks(last) }
    }
}

/// Brings the summaries of all processes to rank 0; elsewhere the result is empty.
pub(crate) fn collect(
    own: &[LocationSummary],
    collectives: &dyn Collectives,
) -> Result<Vec<LocationSummary>, Error> {
    let failed = |_| Error::Collective { doing: "collecting the event counts" };
    let send: Vec<u8> = own.iter().flat_map(LocationSummary::encode).collect();
    let is_root = collectives.rank() == 0;
    let processes = if is_root { collectives.size() as usize } else { 0 };

    let mut lengths = vec![0; processes * size_of::<u64>()];
    collectives.gather(&(send.len() as u64).to_le_bytes(), &mut lengths, 0).map_err(failed)?;
    let lengths: Vec<usize> = lengths
        .chunks_exact(size_of::<u64>())
        .map(|bytes| bytes.iter().rev().fold(0, |length, &byte| length << 8 | usize::from(byte)))
        .collect();

    let mut all = vec![0; lengths.iter().sum()];
    collectives.gatherv(&send, &mut all, &lengths, 0).map_err(failed)?;
    Ok(all.chunks_exact(RECORD_BYTES).map(LocationSummary::decode).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collectives::Serial;

    #[test]
    fn a_summary_survives_the_journey() {
        let own = [
            LocationSummary { location: LocationRef(7), events: 3, first: Ticks(1), last: Ticks(9) },
            LocationSummary {
                location: LocationRef(u64::MAX - 1),
                events: u64::MAX,
                first: Ticks(0),
                last: Ticks(1 << 63),
            },
        ];
        assert_eq!(collect(&own, &Serial).unwrap(), own);
    }
}
