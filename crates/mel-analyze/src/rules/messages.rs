//! Calls that wait for the other side of a message.
//!
//! A receive waits for a send that is entered later: min(T_s(send), T_e) − T_s. A send waits for a receive that is posted
//! later, if it did not return before that: then it was buffered, or eager, and has lost nothing. A call that completes
//! several messages waits for the one that comes last, once. What it waits for after that, because the other rank has begun
//! its side and is outside of MPI, is a wait without progress. Where both sides had begun before, and nobody is outside, a wait for
//! requests is as long as the data is on its way.

use super::{Loss, Rule, Thresholds};
use crate::model::{Side, Way};
use crate::units::{Part, Unit};
use mpi_functions::{Mode, STORED};

/// When a rank was outside of MPI: of such times that ended in this interval, the one that has most of it.
pub type Outside<'a> = &'a dyn Fn(u32, (u64, u64)) -> Option<(u64, u64)>;

/// Whether messages that were sent before to the same rank are not received: when the first of them was sent.
pub type SentBefore<'a> = &'a dyn Fn(&Part) -> Option<u64>;

/// What a call has lost: by a side that came late, by one that made no progress, or by the transfer alone.
pub fn judge(
    unit: &Unit,
    thresholds: Thresholds,
    sent_before: SentBefore<'_>,
    outside: Outside<'_>,
) -> [Option<Loss>; 2] {
    let call = unit.call;
    let lost = |until: u64| until.min(call.end).saturating_sub(call.begin);
    let late = last(unit, thresholds).filter(|((came, _), _)| lost(*came) >= thresholds.epsilon.max(1)).map(
        |((came, site), part)| {
            let until = came.min(call.end);
            let (mut rule, mut since) = (rule_of(part), call.begin);
            if let Some((misarranged, sent)) = misarranged(part).zip(sent_before(part)) {
                let from = sent.max(call.begin);
                if until.saturating_sub(from) >= thresholds.epsilon {
                    (rule, since) = (misarranged, from);
                }
            }
            let culprit = (Some(part.other.call.rank), site);
            Loss {
                communicator: part.own.communicator,
                distance: distance(part, unit),
                ..Loss::new(rule, (call.rank, call.site), (since, until), culprit)
            }
        },
    );
    let from = late.as_ref().map_or(call.begin, |late| late.interval.1);
    let without = unit.parts.iter().filter_map(|part| {
        let begun = part.other.call.begin.max(part.own.call.begin).max(from);
        if eager(part, unit, thresholds) || begun >= call.end || part.other.call.rank == call.rank {
            return None;
        }
        let (since, until) = outside(part.other.call.rank, (begun, call.end))?;
        // Where it goes on for longer after that, it was not for that.
        if call.end - until > until - since.max(begun) {
            return None;
        }
        let interval = (since.max(begun), until.min(call.end));
        let loss = Loss::new(
            Rule::WaitWithoutProgress,
            (call.rank, call.site),
            interval,
            (Some(part.other.call.rank), crate::model::NO_SITE),
        );
        Some(Loss { communicator: part.own.communicator, distance: distance(part, unit), ..loss })
    });
    let without =
        without.filter(|loss| loss.nanos() >= thresholds.epsilon.max(1)).max_by_key(|loss| loss.interval.1);
    let is_explained = late.is_some() || without.is_some();
    [late, without.or_else(|| if is_explained { None } else { only_transfer(unit, thresholds) })]
}

/// Whom a call waits for: the side that comes last, and when. One rank that sends and receives in one go comes once, and then what it
/// sends was late: the order in which it starts the two says nothing. And who receives something anyway does not wait for the receiver
/// of a short message.
fn last(unit: &Unit, thresholds: Thresholds) -> Option<((u64, u32), &Part)> {
    let receives = unit.parts.iter().any(|part| !part.sends);
    let needs_nobody = |part: &Part| {
        receives && part.sends && part.own.bytes <= STORED && part.own.mode != Mode::Synchronous
    };
    let of = |sends: bool| {
        let parts = unit.parts.iter().filter(move |part| part.sends == sends && !needs_nobody(part));
        let came = parts.filter_map(|part| Some((came(part, unit, thresholds)?, part)));
        came.max_by_key(|((came, _), part)| (*came, part.other.call.rank))
    };
    match (of(false), of(true)) {
        (Some(sender), Some(receiver)) => {
            let (sent, posted) = (sender.1.other.call, receiver.1.other.call);
            let in_one_go = sent.rank == posted.rank && posted.begin <= sent.end + thresholds.epsilon;
            Some(if in_one_go || receiver.0.0 <= sender.0.0 { sender } else { receiver })
        }
        (sender, receiver) => sender.or(receiver),
    }
}

/// A wait for nonblocking operations that both sides had begun before: it lasts as long as the data is on its way.
fn only_transfer(unit: &Unit, thresholds: Thresholds) -> Option<Loss> {
    let call = unit.call;
    let begun = |part: &Part| part.other.call.begin.max(part.own.call.begin);
    let waits = |part: &&Part| {
        let is_started_before = part.own.way == Way::Nonblocking && part.own.call.end <= call.begin;
        is_started_before && part.own.bytes > STORED && part.other.call.rank != call.rank
    };
    let nanos = call.end.saturating_sub(call.begin);
    let in_time = unit.parts.iter().all(|part| begun(part) < call.begin + thresholds.epsilon.max(1));
    let part = unit.parts.iter().filter(waits).max_by_key(|part| (part.own.bytes, begun(part)))?;
    (in_time && nanos >= thresholds.epsilon.max(1)).then(|| Loss {
        communicator: part.own.communicator,
        // With as much work after its start the data would have come.
        distance: Some((call.end - part.own.call.end, 0)),
        ..Loss::new(
            Rule::WaitForTransfer,
            (call.rank, call.site),
            (call.begin, call.end),
            (None, crate::model::NO_SITE),
        )
    })
}

/// When the other side began, after this call; and its call site.
fn came(part: &Part, unit: &Unit, thresholds: Thresholds) -> Option<(u64, u32)> {
    let other = part.other.call;
    if other.begin <= unit.call.begin || other.rank == unit.call.rank || eager(part, unit, thresholds) {
        return None;
    }
    Some((other.begin, other.site))
}

/// A message of so few bytes is stored wherever there is room.
const TINY: u64 = 1024;
/// Its send waits for its receive only where it takes longer than this, in nanoseconds.
const NO_ROOM: u64 = 20_000;

/// Whether this is a send that was over before its receive began: it waited for nobody.
fn eager(part: &Part, unit: &Unit, thresholds: Thresholds) -> bool {
    part.sends
        && match part.own.mode {
            Mode::Buffered => true,
            Mode::Synchronous => false,
            Mode::Standard | Mode::Ready => {
                let is_stored = part.own.bytes <= TINY && part.own.way == Way::Blocking;
                is_stored && unit.call.end - unit.call.begin < NO_ROOM
                    || unit.call.end + thresholds.clocks < part.other.call.begin
            }
        }
}

fn rule_of(part: &Part) -> Rule {
    let nonblocking = |side: &Side| side.way == Way::Nonblocking;
    let (own, other) = (&part.own, &part.other);
    if part.sends {
        return match (own.way, own.mode) {
            (Way::Blocking, Mode::Standard) => Rule::EarlyStandardSend,
            (Way::Blocking, Mode::Synchronous) => Rule::EarlySynchronousSend,
            (Way::Blocking, Mode::Ready) => Rule::EarlyReadySend,
            (Way::Nonblocking, Mode::Standard) if nonblocking(other) => Rule::WaitAtSenderIsend,
            (Way::Nonblocking, Mode::Synchronous) if nonblocking(other) => Rule::WaitAtSenderIssend,
            (Way::Nonblocking, Mode::Ready) if nonblocking(other) => Rule::WaitAtSenderIrsend,
            _ => Rule::LateReceiver,
        };
    }
    match (own.way, other.way, other.mode) {
        (Way::Blocking, Way::Blocking, Mode::Standard) => Rule::LateStandardSend,
        (Way::Blocking, Way::Blocking, Mode::Buffered) => Rule::LateBufferedSend,
        (Way::Blocking, Way::Blocking, Mode::Synchronous) => Rule::LateSynchronousSend,
        (Way::Blocking, Way::Blocking, Mode::Ready) => Rule::LateReadySend,
        (Way::Nonblocking, Way::Nonblocking, Mode::Standard) => Rule::WaitAtReceiverIsend,
        (Way::Nonblocking, Way::Nonblocking, Mode::Buffered) => Rule::WaitAtReceiverIbsend,
        (Way::Nonblocking, Way::Nonblocking, Mode::Synchronous) => Rule::WaitAtReceiverIssend,
        (Way::Nonblocking, Way::Nonblocking, Mode::Ready) => Rule::WaitAtReceiverIrsend,
        _ => Rule::LateSender,
    }
}

/// What it is called where the receives come in another order than the sends.
fn misarranged(part: &Part) -> Option<Rule> {
    let blocking = part.own.way == Way::Blocking && part.other.way == Way::Blocking && part.own.alone;
    match part.other.mode {
        Mode::Standard if blocking && !part.sends => Some(Rule::MisarrangementStandardSend),
        Mode::Buffered if blocking && !part.sends => Some(Rule::MisarrangementBufferedSend),
        _ => None,
    }
}

/// By how much earlier a nonblocking operation should be started than its wait is entered, without the time of the transfer:
/// how much later the other side began, and the time in the call that started it.
fn distance(part: &Part, unit: &Unit) -> Option<(u64, u64)> {
    if part.own.way != Way::Nonblocking || part.own.call == unit.call {
        return None;
    }
    let started = part.own.call;
    let later = part.other.call.begin.saturating_sub(started.begin);
    Some((later + (started.end - started.begin), part.own.bytes))
}

/// How long a message took to come, where its receiver waited for it from before it was sent.
pub fn transfer(part: &Part, unit: &Unit) -> Option<u64> {
    let sent = part.other.call.begin;
    let waited = !part.sends && unit.parts.len() == 1 && unit.call.begin <= sent && sent <= unit.call.end;
    waited.then(|| unit.call.end - sent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{call, side};

    const THRESHOLDS: Thresholds = Thresholds { epsilon: 10, delta_sr: 10, delta_percent: 0, clocks: 0 };

    fn unit(sends: bool, own: (u64, u64), other: (u64, u64), change: impl Fn(&mut Part)) -> Unit {
        let mut part = Part { sends, own: side(0, own, 1), other: side(1, other, 0) };
        change(&mut part);
        Unit { call: call(0, own), entered: own.0, parts: vec![part] }
    }

    fn found(unit: &Unit) -> Option<(Rule, u64)> {
        let [late, without] = judge(unit, THRESHOLDS, &|_| None, &|_, _| None);
        assert_eq!(without, None);
        late.map(|loss| (loss.rule, loss.nanos()))
    }

    fn modes(sends: bool, mode: Mode) -> impl Fn(&mut Part) {
        move |part| if sends { part.own.mode = mode } else { part.other.mode = mode }
    }

    fn nonblocking(sends: bool, mode: Mode) -> impl Fn(&mut Part) {
        move |part| {
            modes(sends, mode)(part);
            (part.own.way, part.other.way) = (Way::Nonblocking, Way::Nonblocking);
            // Started before, and both return at once.
            part.own.call.begin = 0;
            part.own.call.end = 1;
        }
    }

    #[test]
    fn a_short_send_waits_only_where_it_takes_long() {
        let short = |until: u64| {
            let mut send = unit(true, (100, until), (until - 20, until + 9), modes(true, Mode::Standard));
            send.parts[0].own.bytes = 8;
            found(&send)
        };
        assert_eq!(short(10_000), None);
        assert_eq!(short(50_000), Some((Rule::EarlyStandardSend, 49_880)));
    }

    #[test]
    fn a_send_that_waits_for_its_receive_is_early() {
        for (mode, rule) in [
            (Mode::Standard, Rule::EarlyStandardSend),
            (Mode::Synchronous, Rule::EarlySynchronousSend),
            (Mode::Ready, Rule::EarlyReadySend),
        ] {
            let early = unit(true, (100, 205), (200, 210), modes(true, mode));
            assert_eq!(found(&early), Some((rule, 100)));
            let healthy = unit(true, (200, 230), (195, 240), modes(true, mode));
            assert_eq!(found(&healthy), None);
            let close = unit(true, (191, 230), (200, 240), modes(true, mode));
            assert_eq!(found(&close), None);
        }
    }

    #[test]
    fn a_send_that_does_not_wait_is_silent() {
        // Eager, however long the call took; and buffered.
        assert_eq!(found(&unit(true, (100, 150), (200, 210), |_| {})), None);
        assert_eq!(found(&unit(true, (100, 205), (200, 210), modes(true, Mode::Buffered))), None);
        let ibsend = unit(true, (100, 205), (200, 210), nonblocking(true, Mode::Buffered));
        assert_eq!(found(&ibsend), None);
    }

    #[test]
    fn a_receive_waits_for_a_late_send() {
        for (mode, rule) in [
            (Mode::Standard, Rule::LateStandardSend),
            (Mode::Buffered, Rule::LateBufferedSend),
            (Mode::Synchronous, Rule::LateSynchronousSend),
            (Mode::Ready, Rule::LateReadySend),
        ] {
            let late = unit(false, (100, 220), (200, 210), modes(false, mode));
            assert_eq!(found(&late), Some((rule, 100)));
            // Never more than the call lasted, where clocks differ.
            assert_eq!(found(&unit(false, (100, 150), (200, 210), modes(false, mode))), Some((rule, 50)));
            assert_eq!(found(&unit(false, (200, 230), (100, 110), modes(false, mode))), None);
        }
    }

    #[test]
    fn waits_for_requests_have_their_own_names() {
        for (sends, mode, rule) in [
            (true, Mode::Standard, Rule::WaitAtSenderIsend),
            (true, Mode::Synchronous, Rule::WaitAtSenderIssend),
            (true, Mode::Ready, Rule::WaitAtSenderIrsend),
            (false, Mode::Standard, Rule::WaitAtReceiverIsend),
            (false, Mode::Buffered, Rule::WaitAtReceiverIbsend),
            (false, Mode::Synchronous, Rule::WaitAtReceiverIssend),
            (false, Mode::Ready, Rule::WaitAtReceiverIrsend),
        ] {
            let waits = unit(sends, (100, 220), (200, 210), nonblocking(sends, mode));
            assert_eq!(found(&waits), Some((rule, 100)), "{sends} {mode:?}");
            let healthy = unit(sends, (100, 220), (90, 95), nonblocking(sends, mode));
            assert_eq!(found(&healthy), None);
        }
    }

    #[test]
    fn the_optimal_distance_is_how_much_later_the_other_side_began() {
        let waits = unit(false, (100, 220), (200, 210), nonblocking(false, Mode::Standard));
        let [late, _] = judge(&waits, THRESHOLDS, &|_| None, &|_, _| None);
        // Posted at 0 for a nanosecond, sent at 200.
        assert_eq!(late.unwrap().distance, Some((201, 2048)));
    }

    #[test]
    fn receives_in_another_order_than_sends_are_misarranged() {
        for (mode, rule) in [
            (Mode::Standard, Some(Rule::MisarrangementStandardSend)),
            (Mode::Buffered, Some(Rule::MisarrangementBufferedSend)),
            (Mode::Synchronous, None),
            (Mode::Ready, None),
        ] {
            let unit = unit(false, (100, 220), (200, 210), modes(false, mode));
            let [late, _] = judge(&unit, THRESHOLDS, &|_| Some(120), &|_, _| None);
            let late = late.unwrap();
            match rule {
                Some(rule) => assert_eq!((late.rule, late.interval), (rule, (120, 200))),
                None => assert_eq!(late.interval, (100, 200)),
            }
        }
    }

    #[test]
    fn a_wait_for_several_is_lost_once_to_the_last() {
        let mut all = unit(false, (100, 320), (200, 210), nonblocking(false, Mode::Standard));
        let mut second = all.parts[0];
        (second.other.call.rank, second.other.call.begin) = (2, 300);
        all.parts.push(second);
        let [late, _] = judge(&all, THRESHOLDS, &|_| None, &|_, _| None);
        let late = late.unwrap();
        assert_eq!((late.culprit, late.interval), (Some(2), (100, 300)));
    }

    #[test]
    fn a_wait_while_the_other_is_outside_of_mpi_is_without_progress() {
        let begun = |part: &mut Part| {
            nonblocking(true, Mode::Standard)(part);
            part.other.call = call(1, (50, 51));
        };
        let unit = unit(true, (100, 320), (50, 51), begun);
        let outside = |rank, _| (rank == 1).then_some((60, 310));
        let [late, without] = judge(&unit, THRESHOLDS, &|_| None, &outside);
        assert_eq!(late, None);
        let without = without.unwrap();
        assert_eq!((without.rule, without.interval), (Rule::WaitWithoutProgress, (100, 310)));
        assert_eq!(without.culprit, Some(1));
    }

    /// A call of rank 0 that completes what it sends to rank 1 and receives from there, where rank 1 starts to receive and to send
    /// at these times.
    fn exchange(bytes: u64, posts: u64, sends: u64) -> Unit {
        let mut send = unit(true, (100, 320), (posts, posts + 1), nonblocking(true, Mode::Standard));
        let receive = unit(false, (100, 320), (sends, sends + 1), nonblocking(false, Mode::Standard));
        send.parts.push(receive.parts[0]);
        send.parts.iter_mut().for_each(|part| part.own.bytes = bytes);
        send
    }

    #[test]
    fn the_order_of_requests_decides_nothing() {
        for bytes in [8, 1 << 20] {
            for (posts, sends) in [(300, 300), (299, 300), (301, 300)] {
                let found = found(&exchange(bytes, posts, sends));
                assert_eq!(
                    found.map(|found| found.0),
                    Some(Rule::WaitAtReceiverIsend),
                    "{bytes} {posts} {sends}"
                );
            }
        }
    }

    #[test]
    fn a_short_message_has_no_late_receiver_where_another_one_is_received() {
        assert_eq!(found(&exchange(8, 300, 90)), None);
        let long = exchange(1 << 20, 300, 90);
        assert_eq!(found(&long), Some((Rule::WaitAtSenderIsend, 200)));
    }

    #[test]
    fn a_wait_for_data_on_its_way_has_no_cause() {
        let begun = |bytes: u64| {
            let mut unit = unit(true, (100, 320), (50, 51), nonblocking(true, Mode::Standard));
            unit.parts[0].own.bytes = bytes;
            judge(&unit, THRESHOLDS, &|_| None, &|_, _| None)[1]
        };
        let only = begun(1 << 20).unwrap();
        assert_eq!((only.rule, only.interval, only.culprit), (Rule::WaitForTransfer, (100, 320), None));
        // Started until 1, there at 320.
        assert_eq!(only.distance, Some((319, 0)));
        assert_eq!(begun(8), None);
    }
}
