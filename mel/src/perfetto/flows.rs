//! Arrows from sends to receives: each side computes the number of its messages' arrows without looking at the other.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;

use mel_convert::facts::MessageFact;
use mel_convert::partners::{MessageId, MessageIds, Recorded};
use mel_log::RankLog;

/// The arrows of a rank's messages.
#[derive(Debug)]
pub(super) struct Flows(MessageIds);

impl Flows {
    /// Those of a log; messages of which the logs have one side only have none.
    pub(super) fn of(log: &RankLog, recorded: Option<&Recorded>) -> Flows {
        let mut ids = MessageIds::of(log);
        if let Some(recorded) = recorded {
            let has_one_side = |id: &mut Option<MessageId>| id.is_some_and(|id| !recorded.has_both(id));
            let MessageIds { sends, receives, .. } = &mut ids;
            sends
                .iter_mut()
                .chain(receives)
                .filter_map(|id| has_one_side(id).then_some(id))
                .for_each(|id| *id = None);
        }
        Flows(ids)
    }

    /// The arrow of a message; none if nobody knows its other side. Never 0.
    pub(super) fn flow(&self, message: &MessageFact) -> Option<u64> {
        let ids = if message.sent { &self.0.sends } else { &self.0.receives };
        let MessageId { channel, number } = (*ids.get(message.index)?)?;
        let mut hasher = FxHasher::default();
        (channel, number).hash(&mut hasher);
        Some(hasher.finish().max(1))
    }
}
