//! What only the queues tell: messages that were stored and copied, searches that took long, and what wildcards cost.
//!
//! The rank that loses the time is the cause: it posts its receives late, or in another order than messages come.

use super::{Loss, Rule};
use crate::model::{NO_SITE, Search};
use crate::units::Part;

/// The time that a copy of a byte takes at most, in nanoseconds: what is longer was interrupted.
const LONGEST_COPY: u64 = 2;
/// And of any message.
const LONGEST_START: u64 = 2_000;
/// Fewer bytes are copied in no time: what the call takes is its own work.
const SHORTEST_COPY: u64 = 512;

/// A receive that found its message in the unexpected queue has to copy it out, if its data had come with it: from when it
/// left the queue until the call was over.
pub fn copy(part: &Part) -> Option<Loss> {
    let (own, send) = (&part.own, &part.other);
    let (_, found) = own.unexpected.filter(|_| !part.sends && own.bytes > SHORTEST_COPY)?;
    // What waited for its receive was no copy.
    if send.call.end > own.call.begin {
        return None;
    }
    let since = found.clamp(own.call.begin, own.call.end);
    let until = own.call.end.min(since + LONGEST_START + LONGEST_COPY * own.bytes);
    let who = (own.call.rank, own.call.site);
    let loss = Loss::new(Rule::UnexpectedCopies, who, (since, until), (Some(own.call.rank), send.call.site));
    (until > since).then_some(Loss { communicator: own.communicator, ..loss })
}

/// Searches in a call.
pub fn search(search: &Search) -> Loss {
    let call = search.call;
    let rule = Rule::of_searches(search.wild);
    let interval = (call.begin, call.begin + search.nanos.min(call.end - call.begin));
    let loss = Loss::new(rule, (call.rank, call.site), interval, (Some(call.rank), NO_SITE));
    Loss { communicator: search.communicator, ..loss }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{call, side};

    #[test]
    fn what_was_copied_is_what_had_come_before_its_receive() {
        let mut part = Part { sends: false, own: side(0, (200, 300), 1), other: side(1, (100, 110), 0) };
        assert_eq!(copy(&part), None);
        part.own.unexpected = Some((120, 230));
        let found = copy(&part).unwrap();
        assert_eq!((found.rule, found.nanos(), found.culprit), (Rule::UnexpectedCopies, 70, Some(0)));
        // A send that is not over had not sent its data.
        part.other.call.end = 310;
        assert_eq!(copy(&part), None);
    }

    #[test]
    fn a_copy_that_takes_too_long_was_interrupted() {
        let mut part =
            Part { sends: false, own: side(0, (200, 10_000_000), 1), other: side(1, (100, 110), 0) };
        part.own.unexpected = Some((120, 230));
        assert_eq!(copy(&part).unwrap().nanos(), 2_000 + 2 * 2048);
        part.own.bytes = 8;
        assert_eq!(copy(&part), None);
    }

    #[test]
    fn searches_are_charged_to_wildcards_where_there_are_some() {
        let mut long =
            Search { call: call(0, (100, 200)), communicator: 0, nanos: 60, entries: 99, wild: false };
        assert_eq!((search(&long).rule, search(&long).nanos()), (Rule::LongSearches, 60));
        (long.wild, long.nanos) = (true, 600);
        assert_eq!((search(&long).rule, search(&long).nanos()), (Rule::WildcardCost, 100));
    }
}
