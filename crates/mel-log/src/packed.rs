//! Records at rest: those of a full chunk, in a fraction of its space.
//!
//! Programs repeat themselves. So each record is stored as what it differs by from the last one of its context, which mostly is the
//! last one of the same kind, communicator and call site; a time as how long after the record before, or its end, it is. These
//! differences are small: their bytes are put into planes, one of all lowest bytes of a field, one of the next ones, and so on.
//! Planes of zeros alone are left out, the others compressed.
//!
//! Which context a record has is stored with it. A reader needs to know nothing about kinds, except how long a call has taken.

use super::format::{
    CHUNK_BYTES, CHUNK_HEADER_BYTES, Call, RECORD_BYTES, RECORDS_PER_CHUNK, kind, u32_at, u64_at,
};

/// Contexts that a chunk may have; where there are more, some share one.
const CONTEXTS: usize = 256;
const TIME_BYTES: usize = 8;
/// What a record has behind its time: its kind and object, and its payload, four bytes each.
const WORDS: usize = (RECORD_BYTES - TIME_BYTES) / 4;
/// The word of a record with the lower half of a call's duration; the upper half is in the next one.
const DURATION: usize = FIRST + 1 + Call::DURATION / 4;

/// The planes: of contexts, then of the bytes of times, then of the bytes of each word.
const OF_CONTEXTS: usize = 0;
const OF_TIMES: usize = 1;
const OF_WORDS: usize = OF_TIMES + TIME_BYTES;
const PLANES: usize = OF_WORDS + 4 * WORDS;

/// The most records of a block. Each block is packed by itself, so that what packing works on stays in the caches.
const BLOCK: usize = 4096;
/// Room for the differences of a word: some lines of the cache more than they need, so that those of all words of one record do not
/// compete for the same place in it.
const COLUMN: usize = BLOCK + 50;

/// Before the compressed planes of a block: how many records it has (`u32`), which planes (`u64`, a bit each), and how many bytes follow
/// (`u32`).
const COUNT: usize = 0;
const PRESENT: usize = 4;
const LENGTH: usize = 12;
const HEAD_BYTES: usize = 16;

/// The most bytes that records take packed: with the headers of a packed chunk and of the one that it is in they fill that.
const MOST_BYTES: usize = CHUNK_BYTES - 2 * CHUNK_HEADER_BYTES;

const _: () = assert!(PLANES <= 64 && Call::DURATION.is_multiple_of(4));

/// A record as words, with those of its time before the others.
type Words = [u32; RECORD_BYTES / 4];
/// The first word behind the time.
const FIRST: usize = TIME_BYTES / 4;

/// What is known at a record of those before it, those of blocks before included.
#[derive(Debug, Default)]
struct Known {
    /// The words of the last record of each context.
    last: Vec<Words>,
    clock: Clock,
}

impl Known {
    /// The same memory, knowing nothing.
    fn anew(mut self) -> Known {
        self.last.clear();
        self.last.resize(CONTEXTS, Words::default());
        self.clock = Clock::default();
        self
    }
}

/// What packing needs of memory, to be used again.
#[derive(Debug, Default)]
pub(crate) struct Packer {
    asked: Contexts,
    known: Known,
    contexts: Vec<u8>,
    times: Vec<u64>,
    /// The differences of each word, those of one context behind each other. A word's begin [`COLUMN`] behind those of the one before.
    words: Vec<u32>,
    planes: Vec<u8>,
    packed: Vec<u8>,
}

impl Packer {
    /// Packs whole records, as many as fit in a chunk, behind `before` bytes that are left to the caller. `None` where that takes
    /// more than the records do, or more than fit in another chunk. Allocates at the first time, and for each block what compressing needs.
    pub(crate) fn pack(&mut self, records: &[u8], before: usize) -> Option<&mut [u8]> {
        let (records, _) = records.as_chunks::<RECORD_BYTES>();
        let (mut contexts, mut known) =
            (std::mem::take(&mut self.asked).anew(), std::mem::take(&mut self.known).anew());
        let mut length = before;
        for block in records[..records.len().min(RECORDS_PER_CHUNK)].chunks(BLOCK) {
            self.contexts.clear();
            self.contexts.extend(block.iter().map(|record| contexts.of(&words_of(record))));
            let present = self.difference(block, &mut known) | 1 << OF_CONTEXTS;
            self.cut(present);
            let content = length + HEAD_BYTES;
            let most = content + lz4_flex::block::get_maximum_output_size(self.planes.len());
            self.packed.resize(self.packed.len().max(most), 0);
            let packed = lz4_flex::block::compress_into(&self.planes, &mut self.packed[content..]).ok()?;
            let head = &mut self.packed[length..content];
            head[COUNT..][..4].copy_from_slice(&(block.len() as u32).to_le_bytes());
            head[PRESENT..][..8].copy_from_slice(&present.to_le_bytes());
            head[LENGTH..][..4].copy_from_slice(&(packed as u32).to_le_bytes());
            length = content + packed;
        }
        (self.asked, self.known) = (contexts, known);
        let packed = length - before;
        (packed < RECORD_BYTES * records.len() && packed <= MOST_BYTES).then(|| &mut self.packed[..length])
    }

    /// Finds the differences of a block's records; gives the planes of times and words that are not all zeros.
    fn difference(&mut self, block: &[[u8; RECORD_BYTES]], known: &mut Known) -> u64 {
        self.times.clear();
        self.words.resize(WORDS * COLUMN, 0);
        let columns = self.words.as_mut_slice();
        let mut places = places(&self.contexts);
        let (mut in_times, mut in_words): (u64, Words) = Default::default();
        for (record, context) in block.iter().zip(&self.contexts) {
            let words = words_of(record);
            let time = time_of(&words);
            let since = time.wrapping_sub(known.clock.0) as i64;
            let since = ((since << 1) ^ (since >> 63)) as u64;
            known.clock.pass(time, &words);
            in_times |= since;
            self.times.push(since);
            let context = usize::from(*context);
            let place = places[context];
            places[context] += 1;
            // All words at once, by vectors: those of the time are of no use.
            let last = std::mem::replace(&mut known.last[context], words);
            let mut differences = Words::default();
            for word in 0..words.len() {
                let difference = words[word].wrapping_sub(last[word]) as i32;
                differences[word] = ((difference << 1) ^ (difference >> 31)) as u32;
                in_words[word] |= differences[word];
            }
            for (word, difference) in differences[FIRST..].iter().enumerate() {
                columns[word * COLUMN + place] = *difference;
            }
        }
        let used = |bytes: &[u8]| bytes.iter().rev().fold(0, |used, byte| used << 1 | u64::from(*byte != 0));
        let of_words = in_words.map(u32::to_le_bytes);
        used(&in_times.to_le_bytes()) << OF_TIMES | used(of_words[FIRST..].as_flattened()) << OF_WORDS
    }

    /// Puts the planes that there are behind each other.
    fn cut(&mut self, present: u64) {
        self.planes.clear();
        for plane in planes(present) {
            match plane {
                Plane::Contexts => self.planes.extend_from_slice(&self.contexts),
                Plane::Time { shift } => {
                    self.planes.extend(self.times.iter().map(|time| (time >> shift) as u8))
                }
                Plane::Word { word, shift } => {
                    let differences = &self.words[word * COLUMN..][..self.contexts.len()];
                    self.planes.extend(differences.iter().map(|difference| (difference >> shift) as u8));
                }
            }
        }
    }
}

/// What the bytes of a plane are.
enum Plane {
    Contexts,
    /// One byte of the differences of times: `shift` bits are below it.
    Time {
        shift: usize,
    },
    /// One byte of the differences of a word.
    Word {
        word: usize,
        shift: usize,
    },
}

/// The planes that there are, in order.
fn planes(present: u64) -> impl Iterator<Item = Plane> {
    (OF_CONTEXTS..PLANES).filter(move |plane| present >> plane & 1 == 1).map(|plane| match plane {
        OF_CONTEXTS => Plane::Contexts,
        OF_TIMES..OF_WORDS => Plane::Time { shift: 8 * (plane - OF_TIMES) },
        _ => Plane::Word { word: (plane - OF_WORDS) / 4, shift: 8 * ((plane - OF_WORDS) % 4) },
    })
}

/// The records that were packed; `None` where these bytes are not what [`Packer::pack`] makes.
pub fn unpack(packed: &[u8]) -> Option<Vec<u8>> {
    let (mut records, mut known) =
        (Vec::with_capacity(RECORD_BYTES * count(packed)?), Known::default().anew());
    for block in blocks(packed) {
        block?.unpack(&mut known, &mut records)?;
    }
    Some(records)
}

/// How many records are packed in these bytes, as they say; `None` where that cannot be.
pub(crate) fn count(packed: &[u8]) -> Option<usize> {
    let count = blocks(packed).try_fold(0, |count, block| Some(count + block?.count));
    count.filter(|count| *count <= RECORDS_PER_CHUNK)
}

/// A packed block.
struct Block<'a> {
    count: usize,
    present: u64,
    content: &'a [u8],
}

/// The blocks in these bytes; `None` for one that cannot be, which is the last.
fn blocks(packed: &[u8]) -> impl Iterator<Item = Option<Block<'_>>> {
    let mut rest = packed;
    std::iter::from_fn(move || {
        let bytes = std::mem::take(&mut rest);
        let (head, behind) =
            bytes.split_at_checked(HEAD_BYTES).or((!bytes.is_empty()).then_some((bytes, &[])))?;
        let (count, present) = (u32_at(head, COUNT) as usize, u64_at(head, PRESENT));
        let content = behind.split_at_checked(u32_at(head, LENGTH) as usize);
        let can_be =
            (1..=BLOCK).contains(&count) && present >> PLANES == 0 && present >> OF_CONTEXTS & 1 == 1;
        let content = content.filter(|_| can_be && head.len() == HEAD_BYTES).map(|(content, others)| {
            rest = others;
            content
        });
        Some(content.map(|content| Block { count, present, content }))
    })
}

impl Block<'_> {
    /// Appends its records to those before it; `None` where its content is none.
    fn unpack(self, known: &mut Known, records: &mut Vec<u8>) -> Option<()> {
        let Block { count, present, content } = self;
        let mut bytes = vec![0; count * present.count_ones() as usize];
        if lz4_flex::block::decompress_into(content, &mut bytes).ok()? != bytes.len() {
            return None;
        }
        let (mut times, mut differences) = (vec![0u64; count], vec![0u32; WORDS * count]);
        for (plane, bytes) in planes(present).zip(bytes.chunks(count)) {
            match plane {
                Plane::Contexts => {}
                Plane::Time { shift } => {
                    times.iter_mut().zip(bytes).for_each(|(time, byte)| *time |= u64::from(*byte) << shift);
                }
                Plane::Word { word, shift } => {
                    let differences = differences[word * count..].iter_mut();
                    differences.zip(bytes).for_each(|(word, byte)| *word |= u32::from(*byte) << shift);
                }
            }
        }
        let contexts = &bytes[..count];
        let mut places = places(contexts);
        for (since, context) in times.iter().zip(contexts) {
            let context = usize::from(*context);
            let place = places[context];
            places[context] += 1;
            let time = known.clock.0.wrapping_add((since >> 1) ^ (since & 1).wrapping_neg());
            let words = &mut known.last[context];
            for (word, last) in words[FIRST..].iter_mut().enumerate() {
                let difference = differences[word * count + place];
                *last = last.wrapping_add((difference >> 1) ^ (difference & 1).wrapping_neg());
            }
            known.clock.pass(time, words);
            records.extend_from_slice(&time.to_le_bytes());
            records.extend_from_slice(&bytes_of(words)[TIME_BYTES..]);
        }
        Some(())
    }
}

/// Where the differences of each context begin.
fn places(contexts: &[u8]) -> [usize; CONTEXTS] {
    let mut places = [0; CONTEXTS];
    contexts.iter().for_each(|context| places[usize::from(*context)] += 1);
    let mut before = 0;
    places.map(|count| {
        before += count;
        before - count
    })
}

#[inline(always)]
fn words_of(record: &[u8; RECORD_BYTES]) -> Words {
    let mut words: Words = bytemuck::cast(*record);
    words.iter_mut().for_each(|word| *word = u32::from_le(*word));
    words
}

#[inline(always)]
fn bytes_of(words: &Words) -> [u8; RECORD_BYTES] {
    let mut stored = *words;
    stored.iter_mut().for_each(|word| *word = word.to_le());
    bytemuck::cast(stored)
}

#[inline(always)]
fn time_of(words: &Words) -> u64 {
    u64::from(words[0]) | u64::from(words[1]) << 32
}

/// When the record before ended, if it is of a call; else when it was.
#[derive(Debug, Default)]
struct Clock(u64);

impl Clock {
    #[inline(always)]
    fn pass(&mut self, time: u64, words: &Words) {
        let is_call = words[FIRST] & 0xffff == u32::from(kind::CALL);
        let duration = u64::from(words[DURATION]) | u64::from(words[DURATION + 1]) << 32;
        self.0 = if is_call { time.wrapping_add(duration) } else { time };
    }
}

/// What the contexts are of: the first two words of their records behind the time.
#[derive(Debug, Default)]
struct Contexts {
    known: Vec<u64>,
    /// By parts of their hashes, some that were asked for, and their contexts.
    asked: Vec<(u64, u8)>,
}

impl Contexts {
    /// The same memory, with no contexts.
    fn anew(mut self) -> Contexts {
        self.known.clear();
        self.asked.clear();
        self.asked.resize(1024, (0, 0));
        self
    }

    /// The context of a record.
    #[inline(always)]
    fn of(&mut self, words: &Words) -> u8 {
        let key = u64::from(words[FIRST]) << 32 | u64::from(words[FIRST + 1] & mask(words[FIRST] as u16));
        let hash = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54) as usize;
        let (known, context) = self.asked[hash];
        if known == key { context } else { self.look_up(key, hash) }
    }

    /// That of one that was not asked for lately. Where there are too many, those that nobody has kept share one by their hashes.
    #[inline(never)]
    fn look_up(&mut self, key: u64, hash: usize) -> u8 {
        if self.known.len() == CONTEXTS {
            return hash as u8;
        }
        let place = self.known.iter().position(|known| *known == key).unwrap_or_else(|| {
            self.known.push(key);
            self.known.len() - 1
        });
        self.asked[hash] = (key, place as u8);
        place as u8
    }
}

/// Which bits of the first four bytes of a payload say what its record resembles: none where they are a number that each has for itself.
#[inline(always)]
fn mask(kind: u16) -> u32 {
    let is_number = matches!(
        kind,
        kind::MPI_ISEND_COMPLETE
            | kind::MPI_IRECV_REQUEST
            | kind::REQUEST_CANCELLED
            | kind::REQUEST_TESTED
            | kind::RMA_COMPLETE
            | kind::RMA_REQUEST_COMPLETE
            | kind::COLLECTIVE_REQUEST
            | kind::COLLECTIVE_COMPLETE
            | kind::CONTINUATION
    );
    if is_number { 0 } else { u32::MAX }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn record(time: u64, kind: u16, words: [u32; 5]) -> Vec<u8> {
        let head = [u64::to_le_bytes(time).to_vec(), u32::from(kind).to_le_bytes().to_vec()];
        [head.concat(), words.map(u32::to_le_bytes).concat()].concat()
    }

    /// Calls of a program that does the same again and again, each with its own time.
    fn calls(count: u32) -> Vec<u8> {
        let call = |number: u32| {
            let noise = number.wrapping_mul(2_654_435_761) >> 24;
            record(u64::from(number) * 3000, kind::CALL, [number % 7, 900 + noise, 0, 2 * number, 0])
        };
        (0..count).flat_map(call).collect()
    }

    /// Records of bytes that do not repeat themselves.
    fn noise(count: usize) -> Vec<u8> {
        let mut seed = 1u64;
        let byte = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 56) as u8
        };
        std::iter::repeat_with(byte).take(count * RECORD_BYTES).collect()
    }

    #[test]
    fn repeated_calls_take_less_than_four_bytes() {
        let records = calls(RECORDS_PER_CHUNK as u32);
        let mut packer = Packer::default();
        let packed = packer.pack(&records, 0).expect("it is smaller");
        assert!(packed.len() < 4 * RECORDS_PER_CHUNK, "{} bytes", packed.len());
        assert_eq!(count(packed), Some(RECORDS_PER_CHUNK));
        assert!(unpack(packed).as_ref() == Some(&records));
        // A packer is used again.
        let few = calls(3);
        assert_eq!(packer.pack(&few, 5).and_then(|packed| unpack(&packed[5..])), Some(few));
        assert_eq!(packer.pack(&[], 0), None);
    }

    #[test]
    fn what_is_packed_fits_in_another_chunk() {
        // The payloads of more and more records are zeros, until packing is worth it.
        let mut packer = Packer::default();
        let mut records = noise(RECORDS_PER_CHUNK);
        for even in (0..RECORDS_PER_CHUNK).step_by(256) {
            let (rows, _) = records.as_chunks_mut::<RECORD_BYTES>();
            rows[even..].iter_mut().take(256).for_each(|row| row[12..].fill(0));
            let packed = packer.pack(&records, CHUNK_HEADER_BYTES);
            let packed = packed.map(|packed| (packed.len(), unpack(&packed[CHUNK_HEADER_BYTES..])));
            if let Some((length, unpacked)) = packed {
                assert!(CHUNK_HEADER_BYTES + length <= CHUNK_BYTES, "{length}");
                assert!(unpacked == Some(records));
                return;
            }
        }
        panic!("nothing was packed");
    }

    #[test]
    fn noise_is_not_packed() {
        assert_eq!(Packer::default().pack(&noise(1000), 0), None);
    }

    proptest! {
        #[test]
        fn what_is_packed_is_unpacked(
            records in proptest::collection::vec(
                (any::<u64>(), 0..40u16, proptest::array::uniform5(prop_oneof![0..4u32, any::<u32>()])), 1..300)
        ) {
            let records: Vec<u8> = records.into_iter().flat_map(|(time, kind, words)| record(time, kind, words)).collect();
            if let Some(packed) = Packer::default().pack(&records, 0) {
                prop_assert_eq!(unpack(packed), Some(records));
            }
        }

        #[test]
        fn whatever_is_unpacked_is_records_or_nothing(
            damaged in proptest::collection::vec((0..2000usize, any::<u8>()), 0..8), garbage in proptest::collection::vec(any::<u8>(), 0..200)
        ) {
            prop_assert!(unpack(&garbage).is_none_or(|records| records.len() % RECORD_BYTES == 0));
            let mut packed = Packer::default().pack(&calls(5000), 0).map(|packed| packed.to_vec()).unwrap_or_default();
            for (at, byte) in damaged {
                let length = packed.len();
                packed[at % length] = byte;
            }
            prop_assert!(unpack(&packed).is_none_or(|records| records.len() % RECORD_BYTES == 0));
        }
    }
}
