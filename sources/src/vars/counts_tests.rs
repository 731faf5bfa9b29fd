//! Process 1 of a job of three; a communicator of the processes 2 and 1, in this order; and an intercommunicator to 0.

use super::*;

const PAIR: u64 = 1;
const INTER: u64 = 2;

fn counts() -> Counts {
    let mut counts = Counts::default();
    assert_eq!(counts.add(Group { own: Some(1), ranks: vec![0, 1, 2] }), WORLD);
    assert_eq!(counts.add(Group { own: Some(1), ranks: vec![2, 1] }), PAIR);
    assert_eq!(counts.add(Group { own: None, ranks: vec![0] }), INTER);
    counts
}

fn place(kind: Kind, communicator: u64, whom: Whom) -> Place {
    Place { kind, communicator, whom, operation: None, thread: 0 }
}

fn one(rank: i32, world: i32) -> Whom {
    Whom::One { rank, world }
}

fn send(counts: &mut Counts, place: Place, bytes: u64) {
    counts.row(place).unwrap().count(bytes);
}

fn operation(counts: &mut Counts, communicator: u64, whom: Whom, number: u16, shape: Shape, bytes: u64) {
    let operation = Some((number, shape));
    send(counts, Place { operation, ..place(Kind::Collective, communicator, whom) }, bytes);
}

/// Bytes for each process of a communicator.
fn bytes(counts: &Counts, communicator: u64, kind: Kind) -> Vec<u64> {
    let mut sums = vec![0; counts.group(communicator).unwrap().ranks.len()];
    counts.by_peer(communicator, kind, &mut |rank, amount| sums[rank] += amount.bytes);
    sums
}

#[test]
fn the_world_has_what_goes_to_a_process_on_whatever_communicator() {
    let mut counts = counts();
    send(&mut counts, place(Kind::Message, WORLD, one(2, 2)), 1);
    send(&mut counts, place(Kind::Message, PAIR, one(0, 2)), 10);
    send(&mut counts, place(Kind::Message, INTER, one(0, 0)), 100);
    // Not to itself, and not to processes of another job.
    send(&mut counts, place(Kind::Message, PAIR, one(1, 1)), 1000);
    send(&mut counts, place(Kind::Message, INTER, one(7, -1)), 1000);
    assert_eq!(bytes(&counts, WORLD, Kind::Message), [100, 0, 11]);
    assert_eq!(bytes(&counts, PAIR, Kind::Message), [10, 0]);
    assert_eq!(bytes(&counts, WORLD, Kind::Put), [0, 0, 0]);
}

#[test]
fn a_process_itself_counts_where_that_is_wanted_but_in_no_collective_operation() {
    let mut counts = counts();
    counts.counts_self = true;
    send(&mut counts, place(Kind::Message, PAIR, one(1, 1)), 7);
    send(&mut counts, place(Kind::Put, NO_COMMUNICATOR, one(1, 1)), 5);
    operation(&mut counts, WORLD, Whom::Each, 3, Shape::OneToAll, 100);
    operation(&mut counts, WORLD, one(1, 1), 4, Shape::AllToAll, 1000);
    assert_eq!(bytes(&counts, WORLD, Kind::Message), [0, 7, 0]);
    assert_eq!(bytes(&counts, WORLD, Kind::Put), [0, 5, 0]);
    assert_eq!(bytes(&counts, WORLD, Kind::Collective), [100, 0, 100]);
}

#[test]
fn windows_are_given_by_process() {
    let mut counts = counts();
    send(&mut counts, place(Kind::Put, NO_COMMUNICATOR, one(0, 0)), 1);
    send(&mut counts, place(Kind::Put, NO_COMMUNICATOR, one(1, 2)), 10);
    send(&mut counts, place(Kind::Get, NO_COMMUNICATOR, one(1, 2)), 100);
    assert_eq!(bytes(&counts, WORLD, Kind::Put), [1, 0, 10]);
    assert_eq!(bytes(&counts, PAIR, Kind::Put), [10, 0]);
    assert_eq!(bytes(&counts, PAIR, Kind::Get), [100, 0]);
}

#[test]
fn a_collective_operation_goes_to_each_other_process() {
    let mut counts = counts();
    operation(&mut counts, WORLD, Whom::Each, 1, Shape::AllToAll, 8);
    operation(&mut counts, WORLD, Whom::Above, 2, Shape::AllToAll, 1);
    operation(&mut counts, PAIR, Whom::Each, 1, Shape::AllToAll, 100);
    operation(&mut counts, WORLD, one(0, 0), 3, Shape::AllToOne, 1000);
    assert_eq!(bytes(&counts, WORLD, Kind::Collective), [1008, 0, 109]);
    assert_eq!(bytes(&counts, PAIR, Kind::Collective), [100, 0]);
    let amount = |messages, bytes| Amount { messages, bytes };
    assert_eq!(counts.operations(WORLD, Shape::AllToAll), amount(2, 17));
    assert_eq!(counts.operations(PAIR, Shape::AllToAll), amount(1, 100));
    assert_eq!(counts.operations(WORLD, Shape::AllToOne), amount(0, 0), "another one is the root");
    counts.received_as_root(WORLD, 64);
    assert_eq!(counts.operations(WORLD, Shape::AllToOne), amount(1, 64));
}

#[test]
fn an_operation_with_different_parts_counts_once() {
    let mut counts = counts();
    for _ in 0..3 {
        operation(&mut counts, WORLD, one(0, 0), 4, Shape::OneToAll, 1);
        operation(&mut counts, WORLD, one(2, 2), 4, Shape::OneToAll, 2);
    }
    operation(&mut counts, WORLD, Whom::Each, 1, Shape::OneToAll, 5);
    assert_eq!(counts.operations(WORLD, Shape::OneToAll), Amount { messages: 4, bytes: 19 });
}

#[test]
fn everything_is_by_process_of_the_world() {
    let mut counts = counts();
    send(&mut counts, place(Kind::Message, WORLD, one(2, 2)), 4);
    send(&mut counts, place(Kind::Message, PAIR, one(0, 2)), 4);
    send(&mut counts, place(Kind::Message, PAIR, one(0, 2)), 0);
    operation(&mut counts, WORLD, Whom::Each, 1, Shape::AllToAll, 8);
    let everything = counts.everything();
    let peer = &everything.peers[&(Kind::Message, 2)];
    assert_eq!((everything.rank, peer.amount), (1, Amount { messages: 3, bytes: 8 }));
    assert_eq!((peer.sizes[0], peer.sizes[3], peer.sizes.iter().sum::<u64>()), (1, 2, 3));
    assert_eq!(everything.communicators[&PAIR].ranks, [2, 1]);
    assert_eq!(everything.communicators[&WORLD].operations[2], Amount { messages: 1, bytes: 16 });
}
