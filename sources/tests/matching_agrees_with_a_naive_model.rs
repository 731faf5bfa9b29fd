//! The engine against a matcher that is too simple to be wrong: two vectors, searched from the front.
#![allow(missing_docs)]
mod common;
use common::{Notes, Senders, engine};
use mpit_events::Ticks;
use mpit_sources::matching::{ANY_SOURCE, ANY_TAG, Completion, Event, ReceiveIndex};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    Post { source: i32, tag: i32 },
    Send { source: i32, tag: i32 },
    Complete { which: usize },
    Cancel { which: usize },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (-1..4i32, -1..3i32).prop_map(|(source, tag)| Step::Post { source, tag }),
        4 => (0..4i32, 0..3i32).prop_map(|(source, tag)| Step::Send { source, tag }),
        3 => (0..8usize).prop_map(|which| Step::Complete { which }),
        1 => (0..8usize).prop_map(|which| Step::Cancel { which }),
    ]
}

/// MPI's rules (MPI-5.0, section 3.5) and ob1's choice among the senders.
#[derive(Default)]
struct Naive {
    posted: Vec<(u64, i32, i32)>,
    unexpected: Vec<(i32, i32, u32)>,
    last_probed: i32,
}

impl Naive {
    fn post(&mut self, request: u64, source: i32, tag: i32) -> Option<(i32, i32, u32)> {
        let turn = (0..4).map(|step| (self.last_probed + 1 + step) % 4);
        let senders: Vec<i32> = if source == ANY_SOURCE { turn.collect() } else { vec![source] };
        for sender in senders {
            let fits = |m: &(i32, i32, u32)| m.0 == sender && (tag == ANY_TAG || m.1 == tag);
            if let Some(place) = self.unexpected.iter().position(fits) {
                if source == ANY_SOURCE {
                    self.last_probed = sender;
                }
                return Some(self.unexpected.remove(place));
            }
        }
        self.posted.push((request, source, tag));
        None
    }

    fn arrive(&mut self, message: (i32, i32, u32)) -> Option<u64> {
        let fits = |r: &(u64, i32, i32)| {
            (r.1 == message.0 || r.1 == ANY_SOURCE) && (r.2 == message.1 || r.2 == ANY_TAG)
        };
        match self.posted.iter().position(fits) {
            Some(place) => Some(self.posted.remove(place).0),
            None => {
                self.unexpected.push(message);
                None
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn the_twin_matches_as_mpi_demands(steps in prop::collection::vec(step(), 1..300)) {
        let mut notes = Notes::default();
        let (mut engine, comm) = engine(&mut notes);
        let (mut naive, mut senders) = (Naive { last_probed: -1, ..Naive::default() }, Senders::default());
        // Receives that the model has matched, and those still posted, by request.
        let mut matched: Vec<(ReceiveIndex, (i32, i32, u32))> = Vec::new();
        let mut waiting: Vec<(u64, ReceiveIndex)> = Vec::new();
        let (mut completed, mut request) = (0, 1000);
        for step in steps {
            match step {
                Step::Post { source, tag } => {
                    request += 1;
                    let posted = engine.post(&mut notes, comm, request, source, tag);
                    let model = naive.post(request, source, tag);
                    prop_assert_eq!(posted.matched, model.is_some());
                    match model {
                        Some(message) => matched.push((posted.receive, message)),
                        None => waiting.push((request, posted.receive)),
                    }
                }
                Step::Send { source, tag } => {
                    let envelope = senders.envelope(source, tag, 0);
                    engine.arrive(&mut notes, &envelope, Ticks(0));
                    if let Some(request) = naive.arrive((source, tag, envelope.sequence)) {
                        let place = waiting.iter().position(|w| w.0 == request).unwrap();
                        matched.push((waiting.remove(place).1, (source, tag, envelope.sequence)));
                    }
                }
                Step::Complete { which } if !matched.is_empty() => {
                    let (receive, (source, tag, sequence)) = matched.remove(which % matched.len());
                    let envelope = engine.complete(&mut notes, receive, Completion::Message { source, tag });
                    prop_assert_eq!(envelope.map(|e| (e.source, e.tag, e.sequence)), Some((source, tag, sequence)));
                    completed += 1;
                }
                Step::Cancel { which } if !waiting.is_empty() => {
                    let (request, receive) = waiting.remove(which % waiting.len());
                    engine.cancel(&mut notes, receive);
                    engine.complete(&mut notes, receive, Completion::Cancelled);
                    naive.posted.retain(|posted| posted.0 != request);
                }
                _ => {}
            }
            prop_assert_eq!(engine.unexpected_len(), naive.unexpected.len());
        }
        let removed = notes.count(Event::PostedInsert) - notes.count(Event::PostedRemove);
        prop_assert_eq!(removed, naive.posted.len());
        prop_assert_eq!(notes.count(Event::UnexInsert) - notes.count(Event::UnexRemove), naive.unexpected.len());
        prop_assert_eq!(notes.count(Event::SearchPostedBegin), notes.count(Event::MessageArrived));
        prop_assert!(notes.records.is_sorted_by_key(|record| record.ticks), "time never goes back");
        let truth = engine.close(&mut notes);
        prop_assert_eq!((truth.matched, truth.rematched, truth.envelopes_lost), (completed, 0, 0));
        prop_assert_eq!(truth.never_received, naive.unexpected.len() as u64);
    }

    /// The real library may give wildcard receives other messages, in any order that MPI allows;
    /// whatever it does, everything that was inserted is removed, and no message is lost or doubled.
    #[test]
    fn the_twin_follows_whatever_the_real_library_does(
        posts in prop::collection::vec((-1..3i32, -1..2i32), 1..40),
        sends in prop::collection::vec((0..3i32, 0..2i32), 1..40),
        mix in prop::collection::vec(any::<bool>(), 80),
        order in any::<u64>(),
    ) {
        let mut notes = Notes::default();
        let (mut engine, comm) = engine(&mut notes);
        let mut senders = Senders::default();
        let mut receives = Vec::new();
        let (mut post, mut send) = (posts.iter(), sends.iter());
        for pick in mix {
            if pick {
                if let Some(&(source, tag)) = post.next() {
                    receives.push((engine.post(&mut notes, comm, receives.len() as u64 + 1, source, tag).receive, source, tag));
                }
            } else if let Some(&(source, tag)) = send.next() {
                engine.arrive(&mut notes, &senders.envelope(source, tag, 0), Ticks(0));
            }
        }
        for &(source, tag) in send {
            engine.arrive(&mut notes, &senders.envelope(source, tag, 0), Ticks(0));
        }
        // The "real library": gives each receive, in a shuffled order, any message that fits.
        let mut left: Vec<(i32, i32)> = sends.clone();
        let mut state = order | 1;
        let mut random = |n: usize| { state ^= state << 13; state ^= state >> 7; state ^= state << 17; (state % n as u64) as usize };
        let (mut done, mut open) = (0, 0);
        while !receives.is_empty() {
            let (receive, source, tag) = receives.swap_remove(random(receives.len()));
            let fits: Vec<usize> = (0..left.len())
                .filter(|&i| (source == -1 || left[i].0 == source) && (tag == -1 || left[i].1 == tag))
                .collect();
            if fits.is_empty() {
                engine.complete(&mut notes, receive, Completion::Cancelled);
                open += 1;
                continue;
            }
            let (source, tag) = left.remove(fits[random(fits.len())]);
            engine.complete(&mut notes, receive, Completion::Message { source, tag });
            done += 1;
        }
        prop_assert_eq!(notes.count(Event::PostedInsert), notes.count(Event::PostedRemove));
        let truth = engine.close(&mut notes);
        prop_assert_eq!(truth.never_received as usize, left.len(), "what nobody received: {:?}", truth);
        prop_assert_eq!(truth.envelopes_lost, 0);
        prop_assert!(truth.matched + truth.rematched >= done && truth.matched + truth.rematched <= done + open);
    }
}
