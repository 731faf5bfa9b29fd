//! Records into one stream: what runs inside the application for each of them.

use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use in_process::prefetch;

use super::{Chunk, Inner};
use crate::format::{
    CHUNK_BYTES, CHUNK_HEADER_BYTES, Call, MAX_PAYLOAD_BYTES, NO_OBJECT, PAYLOAD_BYTES, RECORD_BYTES, chunk,
    header, kind,
};

/// How far ahead of a record, in bytes, the memory of later ones is fetched: a window is larger than the caches that
/// a store need not wait for.
const AHEAD: usize = 256;

/// Appends records to one stream. Belongs to one thread at a time.
///
/// Dropping it unmaps its chunk and gives the chunk's unused space back.
#[derive(Debug)]
pub struct Appender {
    /// Where the next record goes; equal to `end` if the chunk is full or there is none.
    cursor: *mut u8,
    end: *mut u8,
    /// The record of the call that is under way: null where there is none, [`FAR`] where it is not in this chunk.
    open: *mut u8,
    /// The last record of completions, which may have room for more; null where there is none.
    completions: *mut u8,
    /// The same of requests that were tested.
    tests: *mut u8,
    chunk: Option<Chunk>,
    log: Arc<Inner>,
    stream: u32,
    sequence: u32,
    dropped: u64,
}

// SAFETY: the pointers lead into the chunk that this appender alone owns (`take_chunk` never gives
// one out twice) and that is mapped for the whole process; moving to another thread changes neither.
unsafe impl Send for Appender {}

impl Appender {
    pub(super) fn new(log: &Arc<Inner>, stream: u32) -> Appender {
        let none = ptr::null_mut();
        Appender {
            cursor: none,
            end: none,
            open: none,
            completions: none,
            tests: none,
            chunk: None,
            log: Arc::clone(log),
            stream,
            sequence: 0,
            dropped: 0,
        }
    }

    /// Appends a record: its time in ticks, its [`kind`], the index of its communicator
    /// ([`NO_OBJECT`] if there is none) and its payload. Returns whether it was stored; if not, it was
    /// counted.
    ///
    /// Takes no lock, allocates nothing, formats nothing; but once per 32 766 records it packs a full chunk, or
    /// copies it, and hands that to the file system under a lock. A payload of more than [`PAYLOAD_BYTES`] takes further records,
    /// one of more than [`MAX_PAYLOAD_BYTES`] is refused. The kind must not be [`kind::NONE`].
    #[inline(always)]
    pub fn append(&mut self, time: u64, kind: u16, object: u16, payload: &[u8]) -> bool {
        debug_assert_ne!(kind, kind::NONE);
        if self.cursor != self.end && payload.len() <= PAYLOAD_BYTES {
            // SAFETY: the cursor is below the end of this appender's own chunk, both advance in
            // whole records from its first one, and the payload fits.
            unsafe {
                store(self.cursor, time, kind, object, payload);
                self.cursor = self.cursor.add(RECORD_BYTES);
            }
            prefetch::for_writing(self.cursor.wrapping_add(AHEAD));
            return true;
        }
        self.append_slowly(time, kind, object, payload)
    }

    /// Appends the record of a call that begins, of a function and from a call site (0 where it is not known);
    /// [`leave`](Self::leave) stores how long it took.
    #[inline(always)]
    pub fn enter(&mut self, time: u64, function: u16, site: u16) -> bool {
        let payload = (u32::from(function) | u32::from(site) << 16).to_le_bytes();
        if !self.append(time, kind::CALL, NO_OBJECT, &payload) {
            return false;
        }
        self.open = self.cursor.wrapping_sub(RECORD_BYTES);
        true
    }

    /// A call begins that is not recorded.
    pub fn pass_over(&mut self) {
        self.open = ptr::null_mut();
    }

    /// The call under way, if it was recorded, has ended after so many ticks. Where its chunk is no longer at hand,
    /// `false`: then the end needs a record of its own.
    #[inline(always)]
    pub fn leave(&mut self, duration: u64) -> bool {
        let open = std::mem::replace(&mut self.open, ptr::null_mut());
        if open <= FAR {
            return open.is_null();
        }
        // SAFETY: a record of this appender's own chunk, which is mapped: `next_chunk` forgets it. The
        // place is aligned to eight bytes, as records are.
        unsafe { AtomicU64::from_ptr(open.add(PAYLOAD + Call::DURATION).cast()) }
            .store(duration.max(1).to_le(), Ordering::Relaxed);
        true
    }

    /// The call under way has posted a receive with this request. `false` where it needs a record of
    /// its own: a call's record has room for one.
    #[inline(always)]
    pub fn post(&mut self, request: u32) -> bool {
        self.note(Call::REQUEST, request)
    }

    /// Stores a request in the record of the call under way, where there is room for it.
    #[inline(always)]
    fn note(&mut self, field: usize, request: u32) -> bool {
        if self.open <= FAR {
            return false;
        }
        // SAFETY: `open` is a record of this appender's own chunk, which is mapped; the field lies within its payload and is aligned
        // to four bytes.
        let place = unsafe { AtomicU32::from_ptr(self.open.add(PAYLOAD + field).cast()) };
        if place.load(Ordering::Relaxed) != 0 {
            return false;
        }
        place.store(request.to_le(), Ordering::Relaxed);
        true
    }

    /// Appends that the request of a send was complete when the call under way returned, at this time: into the call's
    /// record, else into the last record if that has such requests, and space. Requests are not zero.
    #[inline(always)]
    pub fn complete(&mut self, time: u64, request: u32) -> bool {
        if self.note(Call::COMPLETED, request) {
            return true;
        }
        self.add_to(|this| &mut this.completions, kind::MPI_ISEND_COMPLETE, time, request)
    }

    /// The call under way has tested this request, which is not complete. `false` where it needs a record of its own. A
    /// call that is not recorded has tested nothing.
    #[inline]
    pub fn test(&mut self, request: u32) -> bool {
        self.open.is_null() || self.post(request)
    }

    /// Appends that a request was tested and is not complete, as [`complete`](Self::complete) does.
    pub fn tested(&mut self, time: u64, request: u32) -> bool {
        self.add_to(|this| &mut this.tests, kind::REQUEST_TESTED, time, request)
    }

    /// Appends a request to the last record of several of this kind, or begins another one.
    #[inline(always)]
    fn add_to(
        &mut self,
        last: impl Fn(&mut Appender) -> &mut *mut u8,
        kind: u16,
        time: u64,
        request: u32,
    ) -> bool {
        let before = *last(self);
        if self.pack(before, time, request) {
            return true;
        }
        if !self.append(time, kind, NO_OBJECT, &request.to_le_bytes()) {
            return false;
        }
        *last(self) = self.cursor.wrapping_sub(RECORD_BYTES);
        true
    }

    /// Stores a request in the record `last` of several, if that is the last of all, has this time, and has room.
    #[inline(always)]
    fn pack(&mut self, last: *mut u8, time: u64, request: u32) -> bool {
        if !last.is_null() && last == self.cursor.wrapping_sub(RECORD_BYTES) {
            // SAFETY: the last record of this appender's own chunk, which is mapped and aligned to eight
            // bytes: `next_chunk` forgets it.
            let stamp = unsafe { AtomicU64::from_ptr(last.cast()) };
            if u64::from_le(stamp.load(Ordering::Relaxed)) == time {
                for slot in 1..PAYLOAD_BYTES / 4 {
                    // SAFETY: the slot lies within the payload of that record, aligned to four bytes.
                    let place = unsafe { AtomicU32::from_ptr(last.add(PAYLOAD + 4 * slot).cast()) };
                    if place.load(Ordering::Relaxed) == 0 {
                        place.store(request.to_le(), Ordering::Relaxed);
                        return true;
                    }
                }
            }
        }
        false
    }

    /// The number of this stream in the log.
    pub fn stream(&self) -> u32 {
        self.stream
    }

    /// Records of this stream that were not stored.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Out of line: it needs a chunk, several records, or it is a loss.
    #[cold]
    #[inline(never)]
    fn append_slowly(&mut self, time: u64, kind: u16, object: u16, payload: &[u8]) -> bool {
        let records = payload.len().div_ceil(PAYLOAD_BYTES).max(1);
        let room = (self.end as usize - self.cursor as usize) / RECORD_BYTES;
        if payload.len() > MAX_PAYLOAD_BYTES || (records > room && !self.next_chunk(time)) {
            self.count_drop();
            return false;
        }
        // The first record last: a reader sees either the whole payload or nothing of it.
        for (i, piece) in payload.chunks(PAYLOAD_BYTES).enumerate().skip(1).rev() {
            // SAFETY: there is room for `records` records at the cursor, and `i` is less.
            unsafe { store(self.cursor.add(i * RECORD_BYTES), time, kind::CONTINUATION, object, piece) };
        }
        let first = &payload[..payload.len().min(PAYLOAD_BYTES)];
        // SAFETY: there is room for `records` records at the cursor; a whole number of records is written, so the cursor stays on one.
        unsafe {
            store(self.cursor, time, kind, object, first);
            self.cursor = self.cursor.add(records * RECORD_BYTES);
        }
        true
    }

    /// Makes room for what follows, from this time on.
    fn next_chunk(&mut self, time: u64) -> bool {
        let result = match self.chunk.take() {
            Some(mut window) => {
                let is_packed = time.saturating_sub(window.begun()) >= self.log.unhurried;
                window.spill(&self.log, is_packed, self.sequence).map(|()| window)
            }
            None => self.log.take_chunk(chunk::EVENTS, self.stream, self.sequence),
        };
        // Without room the window goes as it is: after a loss a stream never continues, so that what it
        // holds is always the beginning of what happened.
        self.cursor = ptr::null_mut();
        self.end = ptr::null_mut();
        if !self.open.is_null() {
            self.open = FAR;
        }
        self.completions = ptr::null_mut();
        self.tests = ptr::null_mut();
        match result {
            Ok(chunk) => {
                let base = chunk.map.as_mut_ptr();
                // SAFETY: both offsets lie within the mapping or one past its end.
                unsafe {
                    self.cursor = base.add(CHUNK_HEADER_BYTES);
                    self.end = base.add(CHUNK_BYTES);
                }
                self.sequence += 1;
                self.chunk = Some(chunk);
                true
            }
            Err(error) => {
                self.log.fail(error);
                false
            }
        }
    }

    fn count_drop(&mut self) {
        self.dropped += 1;
        if !self.log.is_foreign() {
            let counter = (self.stream as usize).min(header::DROP_COUNTERS - 1);
            self.log.header_u64(header::DROPS + 8 * counter).fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Appender {
    fn drop(&mut self) {
        if let Some(mut chunk) = self.chunk.take()
            && !self.cursor.is_null()
            && !self.log.is_foreign()
        {
            let used = self.cursor as usize - chunk.map.as_mut_ptr() as usize - CHUNK_HEADER_BYTES;
            let sequence = self.sequence.wrapping_sub(1);
            if used >= WORTH_PACKING && matches!(chunk.pack(&self.log, used, sequence), Ok(true)) {
                chunk.empty(used);
                chunk.close();
                chunk.trim(&self.log.file, CHUNK_HEADER_BYTES);
            } else {
                chunk.seal(used);
                chunk.trim(&self.log.file, CHUNK_HEADER_BYTES + used);
            }
        }
    }
}

/// How many bytes of records are packed when a stream ends: more than the pages that an emptied chunk and a packed one take.
const WORTH_PACKING: usize = 16 << 10;

/// The record of a call that is not at hand. No record is at this address.
const FAR: *mut u8 = ptr::without_provenance_mut(1);

/// Where the payload is in a record.
const PAYLOAD: usize = RECORD_BYTES - PAYLOAD_BYTES;

const _: () =
    assert!((PAYLOAD + Call::DURATION).is_multiple_of(8) && (PAYLOAD + Call::REQUEST).is_multiple_of(4));

/// Stores a record, its kind last.
///
/// # Safety
/// `to` is valid for writing [`RECORD_BYTES`] bytes, aligned to 8, and written by this thread only.
/// The payload has at most [`PAYLOAD_BYTES`] bytes.
#[inline(always)]
unsafe fn store(to: *mut u8, time: u64, kind: u16, object: u16, payload: &[u8]) {
    let mut words = [[0u8; 8]; 3];
    let bytes = words.as_flattened_mut();
    bytes[0..2].copy_from_slice(&kind.to_le_bytes());
    bytes[2..4].copy_from_slice(&object.to_le_bytes());
    bytes[4..4 + payload.len()].copy_from_slice(payload);
    let to: *mut u64 = to.cast();
    // SAFETY: the caller vouches for the 32 bytes and their alignment.
    unsafe {
        AtomicU64::from_ptr(to).store(time.to_le(), Ordering::Relaxed);
        AtomicU64::from_ptr(to.add(2)).store(u64::from_ne_bytes(words[1]), Ordering::Relaxed);
        AtomicU64::from_ptr(to.add(3)).store(u64::from_ne_bytes(words[2]), Ordering::Relaxed);
        AtomicU64::from_ptr(to.add(1)).store(u64::from_ne_bytes(words[0]), Ordering::Release);
    }
}
