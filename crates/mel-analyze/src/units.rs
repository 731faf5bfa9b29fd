//! Calls that complete messages, with the other side of each message.
//!
//! A unit is one such call: a blocking send or receive, `MPI_Sendrecv`, a wait for requests. It can be judged when both sides
//! of all its messages are known. What is kept is bounded by the messages in flight.

use rustc_hash::FxHashMap;

use crate::model::{Call, Completing, Key, Side};

/// A message that a unit completes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// Whether the unit is on the sending side.
    pub sends: bool,
    /// This side.
    pub own: Side,
    /// The other one.
    pub other: Side,
}

/// A call that completes messages.
#[derive(Clone, Debug, PartialEq)]
pub struct Unit {
    /// The call; where it is the last of several tests, from the first one on.
    pub call: Call,
    /// When the call itself was entered.
    pub entered: u64,
    /// Its messages.
    pub parts: Vec<Part>,
}

/// Puts the sides of messages together.
#[derive(Debug, Default)]
pub struct Units {
    open: FxHashMap<u64, (Unit, u32)>,
    /// Sides whose others are not known, and whether they send.
    waiting: FxHashMap<(Key, bool), Side>,
}

impl Units {
    /// A call completes messages, which follow.
    pub fn begin(&mut self, completing: Completing) {
        let Completing { unit, call, entered, count } = completing;
        self.open.insert(unit, (Unit { call, entered, parts: Vec::new() }, count));
    }

    /// A side of a message. Gives the units whose messages are all known now.
    pub fn side(&mut self, side: Side, sends: bool, ready: &mut impl FnMut(Unit)) {
        match self.waiting.remove(&(side.key, !sends)) {
            Some(other) => {
                self.part(Part { sends, own: side, other }, ready);
                self.part(Part { sends: !sends, own: other, other: side }, ready);
            }
            None => _ = self.waiting.insert((side.key, sends), side),
        }
    }

    fn part(&mut self, part: Part, ready: &mut impl FnMut(Unit)) {
        let Some(number) = part.own.unit else { return };
        let Some((unit, missing)) = self.open.get_mut(&number) else { return };
        unit.parts.push(part);
        *missing -= 1;
        if *missing == 0
            && let Some((unit, _)) = self.open.remove(&number)
        {
            ready(unit);
        }
    }

    /// Whether both sides of all messages are known that calls have completed.
    pub fn is_settled(&self) -> bool {
        self.open.is_empty()
    }

    /// The logs are at their ends: what is known of the units that are left.
    pub fn finish(&mut self) -> impl Iterator<Item = Unit> {
        self.waiting.clear();
        let open = std::mem::take(&mut self.open).into_values();
        open.map(|(unit, _)| unit).filter(|unit| !unit.parts.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{call, side};

    #[test]
    fn a_unit_is_ready_when_the_other_sides_are_known() {
        let (mut units, mut found) = (Units::default(), Vec::new());
        units.begin(Completing { unit: 1, call: call(0, (0, 10)), entered: 0, count: 2 });
        let of = |rank, number, unit| {
            let mut side = side(rank, (0, 10), 1 - rank);
            (side.key.number, side.unit) = (number, unit);
            side
        };
        units.side(of(0, 0, Some(1)), false, &mut |unit| found.push(unit));
        units.side(of(0, 1, Some(1)), false, &mut |unit| found.push(unit));
        units.side(of(1, 1, None), true, &mut |unit| found.push(unit));
        assert!(found.is_empty());
        units.side(of(1, 0, None), true, &mut |unit| found.push(unit));
        let numbers: Vec<u64> = found[0].parts.iter().map(|part| part.other.key.number).collect();
        assert_eq!((found.len(), numbers, units.is_settled()), (1, vec![1, 0], true));
        assert_eq!(units.finish().count(), 0);
    }
}
