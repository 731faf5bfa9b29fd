//! The reader of profile tables on files that are damaged in any way: it ends, and gives no more than a table has space for.
//!
//! The input says what is to be done to a good table: which bytes to overwrite, and where to cut it off. Its first byte says whether
//! the table is sealed: with its checksums nearly all damage is noticed and left out.
#![no_main]

use std::cell::RefCell;
use std::mem::offset_of;
use std::ops::Range;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use mel_log::Definition;
use mel_log::profile::{CallSite, Ended};
use mel_log::ranks::MOST_RANKS;
use mel_log::table::{ContextKey, Identity, ProfileTable, QueuesKey, Section, TableRows, WaitKey, layout};

/// So many rows of each kind a good table has.
const ROWS: u64 = 5;

/// A table in which most sections have something, sealed or not.
fn whole(is_sealed: bool) -> &'static [u8] {
    static WHOLE: [OnceLock<Vec<u8>>; 2] = [const { OnceLock::new() }; 2];
    WHOLE[usize::from(is_sealed)].get_or_init(|| {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("table");
        let identity =
            Identity { rank: 1, world_size: 2, ticks_per_second: 1_000_000_000, ..Identity::default() };
        let table = ProfileTable::create(&path, &identity).expect("a table");
        let queues = table.add_queues(QueuesKey::default()).expect("space");
        table.add_thread(0);
        for number in 0..ROWS {
            let context = table.add_context(ContextKey { site: number, ..ContextKey::default() });
            table.context(context).count(number);
            let key = WaitKey { context, ..WaitKey::default() };
            table.add_wait(key);
            table.add_waited(key, number, number + 1);
            table.add_collective(context, number as u32, 0, (number, number + 1));
            table.queues(queues).posted.insert(number);
            table.define(&Definition::Function { number: number as u16, name: format!("MPI_F{number}") });
            table.define(&Definition::Phase { number: number as u16 + 1, name: format!("phase {number}") });
        }
        if is_sealed {
            table.finish(Ended::Aborted, 99);
        }
        std::fs::read(&path).expect("the table is there")
    })
}

/// More rows than a good table has, which are zeros. A full table has megabytes of them: to read them all would take most of the time, and
/// find no more.
const MORE_ROWS: u64 = 4;

/// Where the header has how many rows there are, and the most that are tried.
fn counts() -> [(usize, u64); 15] {
    macro_rules! most {
        ($($count:ident $more:expr),*) => {
            [$({
                let at = offset_of!(layout::Header, $count);
                (at, word(whole(false), at) + $more)
            }),*]
        };
    }
    most!(
        threads MORE_ROWS, queues 1, communicator_queues MORE_ROWS, contexts MORE_ROWS, waits MORE_ROWS, waited MORE_ROWS,
        collectives MORE_ROWS, definitions 100, windows 1, threads_of_windows MORE_ROWS, traffic MORE_ROWS,
        connections MORE_ROWS, sampled MORE_ROWS, attributed MORE_ROWS, attributed_contexts MORE_ROWS
    )
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

/// Where sections begin, and the header.
fn places() -> impl Iterator<Item = usize> {
    std::iter::once(0).chain(Section::ALL.map(Section::begin))
}

/// A copy of a good table that is damaged and mended again: to copy it for each input would take most of the time.
struct Patient {
    bytes: Vec<u8>,
    is_sealed: bool,
    wounds: Vec<Range<usize>>,
    counts: [(usize, u64); 15],
}

impl Patient {
    fn new(is_sealed: bool) -> Patient {
        Patient { bytes: whole(is_sealed).to_vec(), is_sealed, wounds: Vec::new(), counts: counts() }
    }

    fn wound(&mut self, at: usize, with: &[u8]) {
        let start = at.min(self.bytes.len());
        let end = (start + with.len()).min(self.bytes.len());
        self.bytes[start..end].copy_from_slice(&with[..end - start]);
        self.wounds.push(start..end);
    }

    /// The input as edits: which section, where in it, how long, the bytes. Gives how much of the table is left.
    fn damage(&mut self, mut input: &[u8]) -> usize {
        let mut length_left = self.bytes.len();
        while let [place, low, high, length, rest @ ..] = input {
            let within = usize::from(*low) | usize::from(*high) << 8;
            let Some(begin) = places().nth(usize::from(*place) % (Section::ALL.len() + 2)) else {
                length_left = length_left.min(within << 8 | usize::from(*length));
                input = rest;
                continue;
            };
            let (wound, after) = rest.split_at(rest.len().min(usize::from(*length)));
            self.wound(begin + within, wound);
            input = after;
        }
        if length_left > layout::HEADER_BYTES {
            for (at, most) in self.counts {
                if word(&self.bytes, at) > most {
                    self.wound(at, &most.to_ne_bytes());
                }
            }
        }
        if !self.is_sealed && length_left > layout::HEADER_BYTES {
            let sum = layout::identity_checksum(&self.bytes[..length_left]).to_ne_bytes();
            self.wound(offset_of!(layout::Header, identity_checksum), &sum);
        }
        length_left
    }

    fn mend(&mut self) {
        for wound in self.wounds.drain(..) {
            self.bytes[wound.clone()].copy_from_slice(&whole(self.is_sealed)[wound]);
        }
    }
}

thread_local! {
    static PATIENTS: RefCell<[Patient; 2]> = RefCell::new([false, true].map(Patient::new));
}

fn check(rows: &TableRows) {
    assert!(rows.contexts.len() <= layout::MAX_CONTEXTS && rows.waits.len() <= layout::MAX_WAITS);
    assert!(rows.waited.len() <= layout::MAX_INTERVALS && rows.collectives.len() <= layout::MAX_INTERVALS);
    assert!(rows.threads.len() <= layout::MAX_THREADS && rows.queues.len() <= layout::MAX_QUEUES);
    assert!(rows.phases.len() <= layout::MAX_PHASES);
    assert!(rows.rank < MOST_RANKS && rows.world_size <= MOST_RANKS);
    let _ = (rows.last_seen(), rows.missing_bytes());
}

/// What the command makes of tables: calls, waits, who is the cause.
fn judged(rows: TableRows) {
    let profile = mel_verdict::profile(vec![rows], |_, _| CallSite::default());
    assert!(profile.ranks.len() <= 1);
}

fuzz_target!(|input: &[u8]| {
    let Some((is_sealed, input)) = input.split_first() else { return };
    PATIENTS.with_borrow_mut(|patients| {
        let patient = &mut patients[usize::from(is_sealed & 1)];
        let length = patient.damage(input);
        let bytes = &patient.bytes[..length];
        if let Ok(rows) = TableRows::of_file(bytes) {
            check(&rows);
            judged(rows);
        }
        // What a process sends to another one.
        if let Some(rows) = TableRows::of_unpacked_image(bytes) {
            check(&rows);
        }
        patient.mend();
    });
});
