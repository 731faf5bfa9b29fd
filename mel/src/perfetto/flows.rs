//! Arrows from sends to receives: each side computes the number of its messages' arrows without looking at the other.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;

use mel_convert::partners::{Place, Places, Recorded};
use mel_convert::spans::MessageInCall;
use mel_log::RankLog;

/// The arrows of a rank's messages.
#[derive(Debug)]
pub(super) struct Flows(Places);

impl Flows {
    /// Those of a log; messages of which the logs have one side only have none.
    pub(super) fn of(log: &RankLog, recorded: Option<&Recorded>) -> Flows {
        let mut places = Places::of(log);
        if let Some(recorded) = recorded {
            let has_one_side =
                |place: &mut Option<Place>| place.is_some_and(|place| !recorded.has_both(place));
            let Places { sends, receives, .. } = &mut places;
            sends
                .iter_mut()
                .chain(receives)
                .filter_map(|place| has_one_side(place).then_some(place))
                .for_each(|place| *place = None);
        }
        Flows(places)
    }

    /// The arrow of a message; none if nobody knows its other side. Never 0.
    pub(super) fn flow(&self, told: &MessageInCall) -> Option<u64> {
        let places = if told.sent { &self.0.sends } else { &self.0.receives };
        let Place { channel, number } = (*places.get(told.index)?)?;
        let mut hasher = FxHasher::default();
        (channel, number).hash(&mut hasher);
        Some(hasher.finish().max(1))
    }
}
