//! A send and a receive with one other rank, one right after the other, that may be one `MPI_Sendrecv`.
//!
//! Only where |T_s(receive) − T_e(send)| < ΔSR, which is a share of the transfer, the two buffers have no byte in common, and the same is true on the other rank,
//! or it sent before it had received: so neither message depends on the other. Lost is what both transfers could have had in
//! common.

use super::{Loss, Rule, Thresholds};
use crate::model::{Call, NO_SITE, Side, Way};
use crate::units::{Part, Unit};

/// Judges a receive by the last call of the same rank that completed messages.
pub fn judge(before: &Unit, unit: &Unit, thresholds: Thresholds) -> Option<Loss> {
    let ([send], [receive]) = (&before.parts[..], &unit.parts[..]) else { return None };
    let blocking = [send, receive].iter().all(|part| part.own.way == Way::Blocking);
    if !blocking || !send.sends || receive.sends || !are_close(send, receive, thresholds) {
        return None;
    }
    let (there, back) =
        (transfer(send.own.call, send.other.call), transfer(receive.other.call, receive.own.call));
    let lost = there.min(back);
    let call = receive.own.call;
    (lost >= thresholds.epsilon.max(1)).then(|| Loss {
        communicator: receive.own.communicator,
        ..Loss::new(
            Rule::CloseSendAndReceive,
            (call.rank, call.site),
            (call.end.saturating_sub(lost), call.end),
            (None, NO_SITE),
        )
    })
}

fn are_close(send: &Part, receive: &Part, thresholds: Thresholds) -> bool {
    let longest =
        transfer(send.own.call, send.other.call).max(transfer(receive.other.call, receive.own.call));
    let delta = thresholds.delta_sr.max(longest * thresholds.delta_percent / 100);
    if send.own.peer != receive.own.peer || send.own.communicator != receive.own.communicator {
        return false;
    }
    let close = send.own.call.end.abs_diff(receive.own.call.begin) < delta;
    // The other rank: its receive of what was sent, and its send of what was received.
    let (received, sent) = (send.other.call, receive.other.call);
    let independent = sent.begin < received.end || sent.begin - received.end < delta;
    close && independent && are_disjoint(&send.own, &receive.own) && are_disjoint(&send.other, &receive.other)
}

/// Whether both buffers are known, and have no byte in common: what has none in the last 32 bits of its addresses has none.
fn are_disjoint(a: &Side, b: &Side) -> bool {
    let from = |a: &Side, b: &Side| u64::from(b.buffer.wrapping_sub(a.buffer)) >= a.bytes;
    a.buffer != 0 && b.buffer != 0 && from(a, b) && from(b, a)
}

/// How long a message took from when both sides were there.
fn transfer(send: Call, receive: Call) -> u64 {
    receive.end.saturating_sub(send.begin.max(receive.begin))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{call, side};

    const THRESHOLDS: Thresholds = Thresholds { epsilon: 10, delta_sr: 10, delta_percent: 0, clocks: 0 };

    /// Rank 0 sends for 50 and receives for 50, rank 1 the other way round.
    fn exchange() -> (Unit, Unit) {
        let unit = |sends, own, other, buffers: [u32; 2]| {
            let mut part = Part { sends, own: side(0, own, 1), other: side(1, other, 0) };
            (part.own.buffer, part.other.buffer) = (buffers[0], buffers[1]);
            (part.own.bytes, part.other.bytes) = (8, 8);
            Unit { call: call(0, own), entered: own.0, parts: vec![part] }
        };
        (unit(true, (100, 150), (100, 150), [10, 30]), unit(false, (152, 200), (152, 200), [18, 38]))
    }

    #[test]
    fn a_send_and_a_receive_without_anything_between_them_may_be_one() {
        let (send, receive) = exchange();
        let found = judge(&send, &receive, THRESHOLDS).unwrap();
        assert_eq!((found.rule, found.nanos(), found.culprit), (Rule::CloseSendAndReceive, 48, None));
    }

    #[test]
    fn close_is_a_share_of_the_transfer() {
        let (send, mut receive) = exchange();
        (receive.parts[0].own.call.begin, receive.parts[0].other.call.begin) = (162, 162);
        assert_eq!(judge(&send, &receive, THRESHOLDS), None);
        let share = Thresholds { delta_percent: 30, ..THRESHOLDS };
        assert!(judge(&send, &receive, share).is_some(), "12 are less than 30 % of 50");
    }

    #[test]
    fn what_may_depend_on_each_other_is_silent() {
        type Change = fn(&mut Unit, &mut Unit);
        let changes: [(&str, Change); 6] = [
            ("one buffer", |_, receive| receive.parts[0].own.buffer = 15),
            ("unknown buffer", |_, receive| receive.parts[0].own.buffer = 0),
            ("one buffer there", |_, receive| receive.parts[0].other.buffer = 23),
            ("another rank", |send, _| send.parts[0].own.peer = 2),
            ("work between", |send, _| send.parts[0].own.call.end = 120),
            ("work there", |send, _| send.parts[0].other.call.end = 120),
        ];
        for (what, change) in changes {
            let (mut send, mut receive) = exchange();
            change(&mut send, &mut receive);
            assert_eq!(judge(&send, &receive, THRESHOLDS), None, "{what}");
        }
    }
}
