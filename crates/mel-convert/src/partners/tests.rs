//! Logs of two ranks with messages that one of them did not record.

use std::path::Path;

use super::*;
use mel_log::format::NO_OBJECT;
use mel_log::{Completion, Definition, HeaderInfo, LogFile, Members, State, kind};

const TAG: i32 = 5;

/// What a log holds, in order.
#[derive(Clone, Copy)]
enum Step {
    Send,
    Receive,
    /// A receive with this request is posted.
    Post(u32),
    /// It is complete.
    Complete(u32),
    Cancel(u32),
    /// Recording is switched off, when this request was the latest.
    Off(u32),
    /// It is on again, after so many messages were sent and received.
    On(u32, u32, u32),
}

use Step::{Cancel, Complete, Off, On, Post, Receive, Send};

fn write(directory: &Path, rank: u32, steps: &[Step], incomplete: bool) {
    let info = HeaderInfo {
        rank,
        world_size: 2,
        pid: 1,
        ticks_per_second: 1_000_000_000,
        origin_ticks: 0,
        origin_realtime_nanos: 0,
        host: "node".into(),
    };
    let log = LogFile::create(&directory.join(mel_log::file_name(rank)), &info).unwrap();
    let members = Members::from_ranks(0..2);
    let name = "MPI_COMM_WORLD".into();
    log.define(&Definition::Communicator { index: 0, context: 1, name, members, remote: None }).unwrap();
    if steps.iter().any(|step| matches!(step, Off(_))) {
        log.define(&Definition::Phases {}).unwrap();
    }
    let (mut stream, peer) = (log.stream(StreamKind::Calls, 0, None), 1 - rank as i32);
    let message = |request| Message { peer, tag: TAG, bytes: 8, request }.to_payload();
    let completion = |request| Completion { request }.to_payload();
    for (time, step) in (1..).zip(steps) {
        let mut add = |kind, object, payload: &[u8]| assert!(stream.append(time, kind, object, payload));
        let switch = |on, request| Switch { on, incomplete: on && incomplete, request }.to_payload();
        match *step {
            Send => add(kind::MPI_SEND, 0, &message(0)),
            Receive => add(kind::MPI_RECV, 0, &message(0)),
            Post(request) => add(kind::MPI_IRECV_REQUEST, NO_OBJECT, &completion(request)),
            Complete(request) => add(kind::MPI_IRECV, 0, &message(request)),
            Cancel(request) => add(kind::REQUEST_CANCELLED, NO_OBJECT, &completion(request)),
            Off(request) => add(kind::RECORDING, NO_OBJECT, &switch(false, request)),
            On(request, sent, received) => {
                add(kind::RECORDING, NO_OBJECT, &switch(true, request));
                let unseen = UnseenMessages { peer, tag: TAG, sent, received };
                add(kind::UNSEEN_MESSAGES, 0, &unseen.to_payload());
            }
        }
    }
    drop(stream);
    log.finish(State::Finalised, 1000);
}

/// The numbers of what each of two ranks sent and received, and what they have both sides of.
fn numbers(sender: &[Step], receiver: &[Step], incomplete: bool) -> [Vec<Option<u64>>; 3] {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), 0, sender, incomplete);
    write(directory.path(), 1, receiver, incomplete);
    let run = Run::open(directory.path()).unwrap();
    let recorded = Recorded::of(&run);
    let (sent, received) = (MessageIds::of(&run.ranks[0]).sends, MessageIds::of(&run.ranks[1]).receives);
    let of = |ids: &[Option<MessageId>]| ids.iter().map(|id| id.map(|id| id.number)).collect();
    let both = sent.iter().flatten().filter(|id| recorded.as_ref().is_none_or(|all| all.has_both(**id)));
    [of(&sent), of(&received), both.map(|id| Some(id.number)).collect()]
}

fn some<const N: usize>(numbers: [u64; N]) -> Vec<Option<u64>> {
    numbers.map(Some).into()
}

#[test]
fn receives_count_in_the_order_in_which_they_were_posted() {
    let receiver = [Post(1), Post(2), Complete(2), Post(3), Cancel(3), Receive, Complete(1)];
    let [sent, received, both] = numbers(&[Send, Send, Send], &receiver, false);
    assert_eq!((sent, received), (some([0, 1, 2]), some([1, 2, 0])));
    assert_eq!(both.len(), 3);
}

#[test]
fn what_went_unseen_counts() {
    let sender = [Send, Off(0), On(0, 2, 0), Send, Send];
    let receiver = [Receive, Receive, Off(9), On(9, 0, 1), Receive, Post(10), Complete(10)];
    let [sent, received, both] = numbers(&sender, &receiver, false);
    assert_eq!((sent, received), (some([0, 3, 4]), some([0, 1, 3, 4])));
    assert_eq!(both, some([0, 3, 4]));
    // One of the two is off, and the other is not.
    let [_, received, both] = numbers(&sender, &[Receive; 5], false);
    assert_eq!((received, both), (some([0, 1, 2, 3, 4]), some([0, 3, 4])));
}

#[test]
fn a_receive_that_was_posted_before_ends_while_recording_is_off() {
    let receiver = [Post(3), Off(3), Complete(3), On(5, 0, 1), Receive];
    let [_, received, both] = numbers(&[Send; 3], &receiver, false);
    assert_eq!((received, both), (some([0, 2]), some([0, 2])));
}

#[test]
fn receives_that_were_posted_unseen_are_in_the_order_of_their_requests() {
    // Two were posted in the first gap; one of them is complete in the second gap only.
    let receiver =
        [Off(3), On(5, 0, 0), Post(6), Complete(5), Off(6), Complete(4), On(9, 0, 0), Complete(6), Receive];
    let [_, received, _] = numbers(&[Send; 4], &receiver, false);
    assert_eq!(received, some([1, 0, 2, 3]));
    // Of which one is complete nobody knows; those that follow are known.
    let receiver = [Receive, Off(3), On(5, 0, 1), Post(6), Complete(5), Complete(6)];
    let [_, received, both] = numbers(&[Send; 4], &receiver, false);
    assert_eq!((received, both), (vec![Some(0), None, Some(3)], some([0, 3])));
}

#[test]
fn where_not_all_is_told_nothing_is_guessed() {
    let (sender, receiver) = ([Send, Off(0), On(0, 2, 0), Send], [Receive, Off(1), On(1, 0, 2), Receive]);
    let [sent, received, both] = numbers(&sender, &receiver, true);
    assert_eq!((sent, received, both), (vec![Some(0), None], vec![Some(0), None], some([0])));
}
