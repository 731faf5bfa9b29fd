//! When did this entry come into the queue? A table of what is in the queue now.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

/// Slots of the direct table: a power of two.
const SLOTS: usize = 1024;

/// Times by request identity.
///
/// Cost: identities that are counted up, as the twin's are, hit a direct table of [`SLOTS`] entries
/// (16 KiB) with one access; whatever collides there (long queues, identities that are addresses)
/// goes to a hash map. Nothing is allocated while queues stay short.
#[derive(Debug)]
pub struct Pairs {
    direct: Box<[(u64, u64); SLOTS]>,
    others: HashMap<u64, u64, FxBuildHasher>,
}

impl Default for Pairs {
    fn default() -> Self {
        Pairs { direct: Box::new([(0, 0); SLOTS]), others: HashMap::default() }
    }
}

impl Pairs {
    /// Remembers the time of an identity (not zero).
    #[inline]
    pub fn insert(&mut self, identity: u64, time: u64) {
        let slot = &mut self.direct[identity as usize & (SLOTS - 1)];
        if slot.0 == 0 || slot.0 == identity {
            *slot = (identity, time);
        } else {
            self.others.insert(identity, time);
        }
    }

    /// Forgets an identity and gives its time.
    #[inline]
    pub fn remove(&mut self, identity: u64) -> Option<u64> {
        let slot = &mut self.direct[identity as usize & (SLOTS - 1)];
        if slot.0 == identity && identity != 0 {
            slot.0 = 0;
            return Some(slot.1);
        }
        self.others.remove(&identity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_identity_gets_its_own_time_back() {
        let mut pairs = Pairs::default();
        let identities: Vec<u64> = (1..5000).chain((1..100).map(|i| i * 0x1000)).collect();
        for &identity in &identities {
            pairs.insert(identity, identity + 7);
        }
        let unique: std::collections::BTreeSet<u64> = identities.into_iter().collect();
        for identity in unique {
            assert_eq!(pairs.remove(identity), Some(identity + 7));
            assert_eq!(pairs.remove(identity), None);
        }
        assert_eq!(pairs.remove(0), None);
    }
}
