//! Receives that are posted and completed together, as a row, give the same events, in the same order and at the same
//! times, as receives that go through the queues one by one.
#![allow(missing_docs)]
mod common;

use std::collections::BTreeMap;

use common::{Notes, QUEUE, Senders, arrive, engine};
use mpit_events::Ticks;
use mpit_sources::Row;
use mpit_sources::matching::{
    CommIndex, Completed, Completion, EAGER_LIMIT, Engine, Envelope, Event, ReceiveIndex,
};
use mpit_sources::progress_model::{CallInterval, Copying};
use proptest::prelude::*;

/// One call that has completed all receives that were posted before it.
#[derive(Clone, Debug)]
struct Round {
    /// Source and tag of each receive.
    posts: Vec<(i32, i32)>,
    /// The messages that come in the call.
    envelopes: Vec<Envelope>,
    /// Whether the call has waited for nothing but the receives.
    waited: bool,
}

/// What the model keeps between rounds: completed receives end when their messages come at last.
struct Model {
    notes: Notes,
    engine: Engine,
    comm: CommIndex,
    time: u64,
}

impl Model {
    fn new() -> Self {
        let mut notes = Notes::default();
        let (engine, comm) = engine(&mut notes);
        Model { notes, engine, comm, time: 0 }
    }

    fn interval(&mut self, waited: bool) -> CallInterval {
        self.time += 1000;
        let (from, until) = (Ticks(self.time), Ticks(self.time + 500));
        if waited { CallInterval::waited(from, until) } else { CallInterval::open(from, until) }
    }

    fn end(&mut self, completed: &[(ReceiveIndex, Completion)]) {
        for &(receive, real) in completed {
            self.engine.complete(&mut self.notes, receive, real);
        }
    }

    fn one_by_one(&mut self, round: &Round) {
        let mut completed = Vec::new();
        for (place, &(source, tag)) in round.posts.iter().enumerate() {
            let at = Ticks(self.time + 600 + place as u64);
            let request = self.engine.identity();
            let posted = self.engine.post_at(&mut self.notes, self.comm, request, source, tag, at);
            completed.push((posted.receive, Completion::Message { source, tag }));
        }
        let mut interval = self.interval(round.waited);
        for &(receive, real) in &completed {
            interval.completes(self.engine.expect(receive, real), Copying::default());
        }
        for envelope in &round.envelopes {
            arrive(&mut self.engine, &mut self.notes, envelope, &mut interval);
        }
        self.end(&completed);
    }

    /// The same as a row where that is possible; how many messages it took.
    fn in_row(&mut self, round: &Round) -> usize {
        if !self.engine.is_vacant() {
            self.one_by_one(round);
            return 0;
        }
        let mut row = Row::with_capacity(0);
        for (place, &asked) in round.posts.iter().enumerate() {
            let at = Ticks(self.time + 600 + place as u64);
            let request = self.engine.identity();
            row.post(&mut self.engine, &mut self.notes, self.comm, request, (asked.0, asked.1, 0), at);
        }
        row.emit(&mut self.notes);
        let mut interval = self.interval(round.waited);
        for _ in 0..row.unmet() {
            interval.completes(Completed::Waits, Copying::default());
        }
        let taken = round.envelopes.iter().take_while(|envelope| {
            row.arrive(&mut self.engine, &mut self.notes, envelope, || {
                interval.came(envelope, true, Copying::default())
            })
            .is_some()
        });
        let taken = taken.count();
        row.emit(&mut self.notes);
        let mut completed = Vec::new();
        row.give_up(&mut self.engine, &mut self.notes, |receive, real| completed.push((receive, real)));
        for &(receive, real) in &completed {
            self.engine.expect(receive, real);
        }
        for envelope in &round.envelopes[taken..] {
            arrive(&mut self.engine, &mut self.notes, envelope, &mut interval);
        }
        self.end(&completed);
        taken
    }
}

/// What who counts has counted of the queues: how often each event took how long, and the lengths of the posted queue when it was
/// longest and now.
fn counts(model: &Model) -> (BTreeMap<(usize, u64), u64>, i64, i64) {
    let (mut times, mut longest, mut length) = (BTreeMap::new(), 0, 0);
    for record in &model.notes.records {
        let count = u64::from(record.count());
        let is = |event| model.notes.is(record, event);
        if is(Event::PostedInsert) {
            length += count as i64;
        }
        if is(Event::PostedRemove) {
            length -= count as i64;
        }
        longest = longest.max(length);
        let events = [
            Event::PostedInsert,
            Event::PostedRemove,
            Event::UnexInsert,
            Event::UnexRemove,
            Event::SearchPostedEnd,
            Event::SearchUnexpectedEnd,
        ];
        if let Some(event) = events.into_iter().position(is) {
            *times.entry((event, record.ticks.since(record.since))).or_default() += count;
        }
    }
    (times, longest, length)
}

fn lines(model: &Model) -> Vec<String> {
    model.notes.records.iter().map(|record| format!("{record:?}")).collect()
}

/// Source, tag, time of sending, and what is the matter with it.
type Drawn = (i32, u8, u64, u8);

/// Posts, and messages that mostly fit them; now and then another tag, a long message, one that is lost, or one that comes a round late.
fn rounds() -> impl Strategy<Value = Vec<Round>> {
    let message = (0..3i32, 0..8u8, 0..700u64, 0..20u8);
    let round = (prop::collection::vec(message, 0..40), any::<bool>(), any::<prop::sample::Index>(), 0..4u8);
    prop::collection::vec(round, 1..4).prop_map(|rounds| {
        let mut senders = Senders::default();
        let mut begin = 0;
        let mut late = Vec::new();
        let in_turn = |(messages, waited, other, shuffle): (Vec<Drawn>, bool, prop::sample::Index, u8)| {
            let posts: Vec<_> =
                messages.iter().map(|&(source, tag, ..)| (source, i32::from(tag / 7))).collect();
            let mut order: Vec<usize> = (0..messages.len()).collect();
            if shuffle == 0 && !order.is_empty() {
                let place = other.index(order.len());
                order.rotate_left(place);
            }
            begin += 1000;
            let mut envelopes = std::mem::take(&mut late);
            for place in order {
                let (source, _, sent, what) = messages[place];
                let tag = if what == 0 { 9 } else { posts[place].1 };
                let envelope = senders.envelope(source, tag, begin + sent);
                match what {
                    1 => envelopes.push(Envelope { bytes: EAGER_LIMIT + 1, ..envelope }),
                    2 => {}
                    _ if late.iter().any(|one: &Envelope| one.source == source) || what == 3 => {
                        late.push(envelope);
                    }
                    _ => envelopes.push(envelope),
                }
            }
            Round { posts, envelopes, waited }
        };
        rounds.into_iter().map(in_turn).collect()
    })
}

proptest! {
    #[test]
    fn as_one_by_one(rounds in rounds()) {
        let (mut single, mut row) = (Model::new(), Model::new());
        for round in &rounds {
            single.one_by_one(round);
            row.in_row(round);
            prop_assert_eq!(lines(&single), lines(&row));
            prop_assert_eq!(single.engine.truth(), row.engine.truth());
        }
        prop_assert_eq!(single.engine.close(&mut single.notes), row.engine.close(&mut row.notes));
        prop_assert_eq!(lines(&single), lines(&row));
    }

    #[test]
    fn who_counts_counts_as_many(rounds in rounds()) {
        let (mut single, mut row) = (Model::new(), Model::new());
        row.notes.only_counts = true;
        for round in &rounds {
            single.one_by_one(round);
            row.in_row(round);
            prop_assert_eq!(counts(&single), counts(&row));
        }
        prop_assert!(row.notes.records.len() <= single.notes.records.len());
    }
}

#[test]
fn messages_of_several_senders_take_the_first_receive_of_each() {
    let mut senders = Senders::default();
    let posts = vec![(1, 5), (2, 5), (1, 6), (2, 6)];
    let envelopes = [(2, 5), (1, 5), (1, 6), (2, 6)].map(|(source, tag)| senders.envelope(source, tag, 1));
    let mut model = Model::new();
    assert_eq!(model.in_row(&Round { posts, envelopes: envelopes.to_vec(), waited: true }), 4);
    let removed =
        ["posted_remove 2 2 5", "posted_remove 1 1 5", "posted_remove 3 1 6", "posted_remove 4 2 6"];
    assert_eq!(model.notes.lines_of(QUEUE)[4..], removed);
    assert_eq!(model.engine.truth().matched, 4);
    assert!(model.engine.is_vacant());
}

#[test]
fn what_the_row_does_not_expect_ends_it() {
    let mut senders = Senders::default();
    let posts = vec![(1, 5), (1, 6), (1, 7)];
    // The second message is not for the second receive.
    let envelopes = [5, 7, 6].map(|tag| senders.envelope(1, tag, 1));
    let mut model = Model::new();
    assert_eq!(model.in_row(&Round { posts, envelopes: envelopes.to_vec(), waited: false }), 1);
    let removed = ["posted_remove 1 1 5", "posted_remove 3 1 7", "posted_remove 2 1 6"];
    assert_eq!(model.notes.lines_of(QUEUE)[3..], removed);
}
