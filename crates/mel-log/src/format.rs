//! The layout of the event log in bytes. All numbers are little endian; offsets are in bytes.
//!
//! A change here is a change of the format: raise [`VERSION`] and change `docs/event-log.md`.

use super::checksum;
use super::payload::{array_at, payload};

/// The first eight bytes of a log.
pub const MAGIC: [u8; 8] = *b"MEL-LOG\n";
/// The version of the layout.
pub const VERSION: u32 = 9;
/// Size of the header page.
pub const HEADER_BYTES: usize = 4096;
/// Size of a chunk: its header and its records.
pub const CHUNK_BYTES: usize = 1 << 20;
/// Size of the header of a chunk.
pub const CHUNK_HEADER_BYTES: usize = 64;
/// Size of a record.
pub const RECORD_BYTES: usize = 32;
/// Bytes of payload that fit in one record.
pub const PAYLOAD_BYTES: usize = 20;
/// Records in one chunk of events.
pub const RECORDS_PER_CHUNK: usize = (CHUNK_BYTES - CHUNK_HEADER_BYTES) / RECORD_BYTES;
/// Bytes of definitions in one chunk of definitions.
pub const TEXT_PER_CHUNK: usize = CHUNK_BYTES - CHUNK_HEADER_BYTES;
/// The most continuation records of one record, and so the limit of a payload.
pub const MAX_CONTINUATIONS: usize = 255;
/// The longest payload that a log can hold.
pub const MAX_PAYLOAD_BYTES: usize = PAYLOAD_BYTES * (1 + MAX_CONTINUATIONS);

/// The object of a record whose communicator is not known, or that has none.
pub const NO_OBJECT: u16 = 0xffff;

/// Where the fields of the header page are.
pub mod header {
    /// `[u8; 8]`: [`MAGIC`](super::MAGIC).
    pub const MAGIC: usize = 0;
    /// `u32`: [`VERSION`](super::VERSION).
    pub const VERSION: usize = 8;
    /// `u32`: [`RECORD_BYTES`](super::RECORD_BYTES).
    pub const RECORD_BYTES: usize = 12;
    /// `u32`: [`CHUNK_BYTES`](super::CHUNK_BYTES).
    pub const CHUNK_BYTES: usize = 16;
    /// `u32`: rank in `MPI_COMM_WORLD`.
    pub const RANK: usize = 20;
    /// `u32`: size of `MPI_COMM_WORLD`.
    pub const WORLD_SIZE: usize = 24;
    /// `u32`: process identifier on its host.
    pub const PID: usize = 28;
    /// `u64`: ticks of the clock in a second.
    pub const TICKS_PER_SECOND: usize = 32;
    /// `u64`: the tick that counts as the start of the run.
    pub const ORIGIN_TICKS: usize = 40;
    /// `u64`: nanoseconds since 1970-01-01 UTC at that tick.
    pub const ORIGIN_REALTIME_NANOS: usize = 48;
    /// `u64`: the tick at which the log was finished; 0 before.
    pub const END_TICKS: usize = 56;
    /// `u32`: [`State`](super::State).
    pub const STATE: usize = 64;
    /// `u32`: chunks taken so far; changed atomically.
    pub const CHUNKS: usize = 68;
    /// `u64`: bytes that the file has; changed atomically. One that has fewer was cut off. 0 if not known.
    pub const LENGTH: usize = 72;
    /// `u32`: checksum of what says who wrote the log and by which clock: the bytes before [`END_TICKS`], and the host name.
    pub const IDENTITY_CHECKSUM: usize = 80;
    /// `u32`: checksum of the bytes from [`END_TICKS`] to [`CHUNKS`]; 0 before the log is finished.
    pub const END_CHECKSUM: usize = 84;
    /// `[u8; 256]`: host name in UTF-8, padded with zeros.
    pub const HOST: usize = 128;
    /// Length of the host name's field.
    pub const HOST_BYTES: usize = 256;
    /// `[u64; DROP_COUNTERS]`: records lost, per stream; changed atomically.
    pub const DROPS: usize = 2048;
    /// Number of drop counters. The streams from the last one on share the last counter.
    pub const DROP_COUNTERS: usize = 256;
}

/// Where the fields of a chunk's header are.
pub mod chunk {
    /// `u32`: [`CHUNK_MAGIC`]; written last, so a chunk without it is not there yet.
    pub const MAGIC: usize = 0;
    /// `u32`: [`EVENTS`], [`DEFINITIONS`], [`PACKED`] or [`EMPTIED`].
    pub const KIND: usize = 4;
    /// `u32`: number of the stream; 0 for definitions.
    pub const STREAM: usize = 8;
    /// `u32`: position of this chunk within its stream, from 0.
    pub const SEQUENCE: usize = 12;
    /// `u32`: how many bytes behind the chunk's header are final; 0 as long as the chunk is being filled.
    pub const SEALED: usize = 16;
    /// `u32`: their checksum, with the fields `KIND` to `SEALED` before them; of [`PACKED`], of these fields alone.
    pub const CHECKSUM: usize = 20;
    /// The value of the field `MAGIC`: `MCHK`.
    pub const CHUNK_MAGIC: u32 = u32::from_le_bytes(*b"MCHK");
    /// A chunk of 32-byte records.
    pub const EVENTS: u32 = 1;
    /// A chunk of definitions: a piece of a text of JSON lines.
    pub const DEFINITIONS: u32 = 2;
    /// A chunk of packed chunks, one behind the other: [`SEALED`] says up to where, and [`CHECKSUM`] is of the chunk's header alone.
    pub const PACKED: u32 = 3;
    /// A chunk whose records are packed in another one.
    pub const EMPTIED: u32 = 4;
    /// The value of the field `MAGIC` of a packed chunk: `MPCK`. Its other fields are those of the chunk of events that it was, and
    /// [`SEALED`] says how many bytes it takes now.
    pub const PACKED_MAGIC: u32 = u32::from_le_bytes(*b"MPCK");
}

/// The kinds of records.
pub mod kind {
    /// Not written yet: the end of a chunk for a reader.
    pub const NONE: u16 = 0;
    /// An MPI function was entered, whose leaving is a record of its own: `function: u16`, `site: u16`.
    pub const ENTER: u16 = 1;
    /// An MPI function was left: `function: u16`.
    pub const LEAVE: u16 = 2;
    /// A blocking send: [`Message`](super::Message).
    pub const MPI_SEND: u16 = 3;
    /// A nonblocking send was started: [`Message`](super::Message).
    pub const MPI_ISEND: u16 = 4;
    /// Nonblocking sends completed: [`Completion`](super::Completion) of one to five requests, of which a
    /// reader sees each by itself.
    pub const MPI_ISEND_COMPLETE: u16 = 5;
    /// A nonblocking receive was posted: [`Completion`](super::Completion).
    pub const MPI_IRECV_REQUEST: u16 = 6;
    /// A nonblocking receive completed: [`Message`](super::Message).
    pub const MPI_IRECV: u16 = 7;
    /// A blocking receive: [`Message`](super::Message).
    pub const MPI_RECV: u16 = 8;
    /// A request was cancelled: [`Completion`](super::Completion).
    pub const REQUEST_CANCELLED: u16 = 9;
    /// So many events were lost on their way to the log: `count: u64`.
    pub const DROPPED: u16 = 10;
    /// A call of an MPI function, from its entry on: [`Call`](super::Call). A reader sees it as entered,
    /// perhaps a receive posted, and left.
    pub const CALL: u16 = 11;
    /// The collective operation of the call under way: [`Collective`](super::Collective).
    pub const COLLECTIVE: u16 = 12;
    /// An operation on a window was started: [`Operation`](super::Operation). A put; the other kinds of operations
    /// follow, up to [`RMA_LAST_OPERATION`].
    pub const RMA_OPERATION: u16 = 16;
    /// The last of the kinds of operations: put, get, accumulate, get and accumulate, fetch and operate, compare and
    /// swap.
    pub const RMA_LAST_OPERATION: u16 = 21;
    /// An operation without a request is complete: its number `u64`.
    pub const RMA_COMPLETE: u16 = 22;
    /// An operation with a request is complete: its number `u64`.
    pub const RMA_REQUEST_COMPLETE: u16 = 23;
    /// A fence was entered.
    pub const RMA_FENCE_BEGIN: u16 = 24;
    /// A fence was passed.
    pub const RMA_FENCE_END: u16 = 25;
    /// An access or exposure epoch was opened or ended: how many others `u32`, and their ranks, `i32` each.
    pub const RMA_GROUP: u16 = 26;
    /// A lock was asked for: target `i32` (−1 for all), and whether it is exclusive, `u32`.
    pub const RMA_LOCK_REQUEST: u16 = 27;
    /// A lock was granted: as above.
    pub const RMA_LOCK: u16 = 28;
    /// A lock was given back: target `i32`.
    pub const RMA_UNLOCK: u16 = 29;
    /// A window was made.
    pub const WIN_CREATE: u16 = 30;
    /// A window was freed.
    pub const WIN_DESTROY: u16 = 31;
    /// An epoch has ended: [`Epoch`](super::Epoch).
    pub const RMA_EPOCH: u16 = 32;
    /// Recording was switched off or on: [`Switch`](crate::Switch).
    pub const RECORDING: u16 = 13;
    /// Requests were tested and are not complete: as [`MPI_ISEND_COMPLETE`].
    pub const REQUEST_TESTED: u16 = 14;
    /// The collective operation of the call under way has a request, or one that has it, because it is persistent, was
    /// started: [`Completion`](super::Completion).
    pub const COLLECTIVE_REQUEST: u16 = 33;
    /// A collective operation that has a request is complete: [`Completion`](super::Completion).
    pub const COLLECTIVE_COMPLETE: u16 = 34;
    /// From where the function that was just entered is called: the address that it returns to, `u64`. A reader sees it
    /// in the entry.
    pub const CALLSITE: u16 = 35;
    /// While recording was off, until the record before, there were messages: [`UnseenMessages`](crate::UnseenMessages).
    pub const UNSEEN_MESSAGES: u16 = 36;
    /// The same of events: [`UnseenEvents`](crate::UnseenEvents).
    pub const UNSEEN_EVENTS: u16 = 37;
    /// A variable had this value: [`Sample`](crate::Sample).
    pub const SAMPLE: u16 = 38;
    /// In the call under way a thread has found what it has polled for; between its tests it has worked: for how many ticks it has waited, `u64`.
    pub const WORKED: u16 = 39;
    /// The process enters a phase that the program has named: its number `u16`, 0 for none. In the stream of the thread that has named it.
    pub const PHASE: u16 = 40;
    /// The thread is in this region of the program from now on: its number `u16`, 0 for none.
    pub const REGION: u16 = 45;
    /// Under `mel run --check`, what the call under way sends, receives and computes: [`Described`](super::Described).
    pub const DESCRIBED: u16 = 41;
    /// Under `mel run --check`, in the call that completes the first of two operations whose buffers overlapped: [`Overlap`](super::Overlap).
    pub const OVERLAP: u16 = 42;
    /// Under `mel run --check`, the call under way has failed because its message is longer than the receive.
    pub const TRUNCATED: u16 = 43;
    /// Under `mel run --check`, the call under way, which receives or completes messages, has failed: which of them it has received is not
    /// known.
    pub const FAILED: u16 = 44;
    /// Twenty more bytes of the payload of the record before.
    pub const CONTINUATION: u16 = 15;
    /// Instance of event type `n` is kind `EVENT + n`; the payload is the event's own.
    pub const EVENT: u16 = 0x1000;
    /// Instance of event type `n` and, after a while, of the type that ends it, is kind `PAIR + n`:
    /// [`Pair`](super::Pair). A reader sees two events.
    pub const PAIR: u16 = 0x2000;
    /// The same, and an instance of the type that the pair's definition names under `inserts`:
    /// [`Pair`](super::Pair). A reader sees three events.
    pub const PAIR_INSERTING: u16 = 0x3000;
    /// The same, of the type named under `removes`.
    pub const PAIR_REMOVING: u16 = 0x4000;
}

/// How the life of the process that wrote a log stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum State {
    /// It writes still, or it ended without a word.
    Running = 1,
    /// It called `MPI_Finalize`.
    Finalised = 2,
    /// It ended in good order but before `MPI_Finalize`: `MPI_Abort`, or `exit`.
    Aborted = 3,
}

impl State {
    /// The state of that number, if there is one.
    pub fn from_number(number: u32) -> Option<State> {
        [State::Running, State::Finalised, State::Aborted].into_iter().find(|s| *s as u32 == number)
    }
}

/// Who writes a log, and by which clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderInfo {
    /// Rank in `MPI_COMM_WORLD`.
    pub rank: u32,
    /// Size of `MPI_COMM_WORLD`.
    pub world_size: u32,
    /// Process identifier on its host.
    pub pid: u32,
    /// Ticks of the clock in a second.
    pub ticks_per_second: u64,
    /// The tick that counts as the start of the run: that of `MPI_Init`.
    pub origin_ticks: u64,
    /// Nanoseconds since 1970-01-01 UTC at that tick.
    pub origin_realtime_nanos: u64,
    /// Host name; bytes beyond the 256th are cut off.
    pub host: String,
}

payload! {
    /// The payload of a message record.
    #[derive(Eq)]
    pub struct Message {
        /// Rank of the other side in the communicator (in its remote group, if it has one).
        pub peer: i32,
        /// Tag of the message.
        pub tag: i32,
        /// Length of the message in bytes.
        pub bytes: u64,
        /// Number of the request. Of a blocking call: the last 32 bits of the address of its buffer, where that is one piece; 0
        /// where it is not known.
        pub request: u32,
    }
}

/// The root of a collective operation that has none.
pub const NO_ROOT: i32 = -1;
/// The root of a collective operation among two groups: the process itself (`MPI_ROOT`).
pub const ROOT_ITSELF: i32 = -2;
/// The root of a collective operation among two groups: another process of this group (`MPI_PROC_NULL`).
pub const ROOT_IN_THIS_GROUP: i32 = -3;

payload! {
    /// The payload of a collective operation's record.
    #[derive(Eq)]
    pub struct Collective {
        /// Rank of the root (in the remote group, if there is one), or [`NO_ROOT`], [`ROOT_ITSELF`],
        /// [`ROOT_IN_THIS_GROUP`].
        pub root: i32,
        /// Bytes that this process sends.
        pub sent: u64,
        /// Bytes that this process receives.
        pub received: u64,
    }
}

payload! {
    /// The payload of what a call's data is.
    #[derive(Eq)]
    pub struct Described {
        /// The signature of what is sent, or of what all give; 0 where it is not known.
        pub sent: u32,
        /// The signature of what is received.
        pub received: u32,
        /// Place of the operation of a reduction among the predefined ones plus 1; 0 where there is none,
        /// [`OF_THE_PROGRAM`] for one that the program has made.
        pub reduction: u16,
    }
}

/// An operation of reductions that the program has made.
pub const OF_THE_PROGRAM: u16 = u16::MAX;

payload! {
    /// The payload of two operations that used one buffer at the same time.
    #[derive(Eq)]
    pub struct Overlap {
        /// Number of the function that started the first one.
        pub function: u16,
        /// Number of its call site; 0 where it is not known.
        pub site: u16,
        /// Number of the function of the second one.
        pub other: u16,
        /// Number of its call site.
        pub other_site: u16,
    }
}

payload! {
    /// The payload of an operation on a window.
    #[derive(Eq)]
    pub struct Operation {
        /// Rank of the target in the window.
        pub target: i32,
        /// Bytes at the target that it reads or writes.
        pub bytes: u64,
        /// Its number in the process.
        pub number: u64,
    }
}

payload! {
    /// The payload of an epoch that has ended.
    #[derive(Eq)]
    pub struct Epoch {
        /// 0 between fences, 1 access, 2 exposure, 3 lock of one target, 4 lock of all.
        pub kind: u32,
        /// The locked target; −1 where there is not one.
        pub target: i32,
        /// Ticks since it was opened.
        pub duration: u64,
    }
}

payload! {
    /// The payload of a call. Its last three fields are stored while the call runs.
    #[derive(Eq)]
    pub struct Call {
        /// Number of the function.
        pub function: u16,
        /// Number of the call site; 0 where it is not known.
        pub site: u16,
        /// Ticks until the function was left; 0 while it has not been.
        pub duration: u64,
        /// Number of the request of the receive that the call posted, or that it tested in vain; 0 where there is none.
        pub request: u32,
        /// Number of the request of a send that was complete when the call returned; 0 where there is none.
        pub completed: u32,
    }
}

impl Call {
    /// Where [`duration`](Call::duration) is in the payload: on a multiple of eight bytes in the record.
    pub const DURATION: usize = 4;
    /// Where [`request`](Call::request) is in the payload.
    pub const REQUEST: usize = 12;
    /// Where [`completed`](Call::completed) is in the payload.
    pub const COMPLETED: usize = 16;
}

payload! {
    /// The payload of a call's entry, as readers see it.
    #[derive(Eq)]
    pub struct Entry {
        /// Number of the function.
        pub function: u16,
        /// Number of the call site; 0 where it is not known.
        pub site: u16,
        /// The address that it returns to; 0 where it was not recorded.
        pub returns_to: u64,
    }
}

/// The payload of two events in one record, or three: the elements of the first, as many as fit, and the ticks
/// between the two.
///
/// The third one is about an entry of a queue, and has the time of the second. Its elements are those of the first
/// where these take more than twelve bytes; else the entry's request, stored behind them, comes before them.
pub struct Pair;

impl Pair {
    /// Bytes for the elements.
    pub const ELEMENTS: usize = 16;
    /// Where the request of the third event is, if it is not in the elements of the first.
    pub const REQUEST: usize = 12;

    /// The payload, where elements and duration fit: so many bytes of elements, and zeros behind them.
    #[inline(always)]
    pub fn to_payload(
        elements: &[u8; PAYLOAD_BYTES],
        length: usize,
        duration: u64,
    ) -> Option<[u8; PAYLOAD_BYTES]> {
        let duration = u32::try_from(duration).ok().filter(|_| length <= Pair::ELEMENTS)?;
        let mut payload = *elements;
        payload[Pair::ELEMENTS..].copy_from_slice(&duration.to_le_bytes());
        Some(payload)
    }

    /// The payload with the third event's request, where that fits too.
    #[inline(always)]
    pub fn to_payload_with(
        elements: &[u8; PAYLOAD_BYTES],
        length: usize,
        duration: u64,
        request: u64,
    ) -> Option<[u8; PAYLOAD_BYTES]> {
        let request = u32::try_from(request).ok().filter(|request| *request != 0)?;
        let mut payload = Pair::to_payload(elements, length, duration).filter(|_| length <= Pair::REQUEST)?;
        payload[Pair::REQUEST..Pair::ELEMENTS].copy_from_slice(&request.to_le_bytes());
        Some(payload)
    }

    /// The ticks between the two events.
    pub fn duration(payload: &[u8]) -> u32 {
        u32_at(payload, Pair::ELEMENTS)
    }

    /// The request of the third event, if it is not in the elements of the first.
    pub fn request(payload: &[u8]) -> u64 {
        u32_at(payload, Pair::REQUEST).into()
    }
}

payload! {
    /// The payload of a record about a request.
    #[derive(Eq)]
    pub struct Completion {
        /// Number of the request: the one of its start.
        pub request: u32,
    }
}

/// The checksum in [`header::IDENTITY_CHECKSUM`] that belongs to a header page.
pub fn identity_checksum(page: &[u8]) -> u32 {
    let piece = |from, to| page.get(from..to).unwrap_or_default();
    checksum::of([piece(0, header::END_TICKS), piece(header::HOST, header::HOST + header::HOST_BYTES)])
}

/// The checksum in [`header::END_CHECKSUM`] that belongs to a header page.
pub(crate) fn end_checksum(page: &[u8]) -> u32 {
    checksum::of([page.get(header::END_TICKS..header::CHUNKS).unwrap_or_default()])
}

/// The checksum in [`chunk::CHECKSUM`] that belongs to a chunk; `None` where fewer bytes are there than are sealed.
pub(crate) fn chunk_checksum(bytes: &[u8]) -> Option<u32> {
    let sealed = u32_at(bytes, chunk::SEALED) as usize;
    let content = bytes.get(CHUNK_HEADER_BYTES..)?.get(..sealed)?;
    Some(checksum::of([bytes.get(chunk::KIND..chunk::CHECKSUM)?, content]))
}

/// The checksum in [`chunk::CHECKSUM`] that belongs to a chunk of packed chunks.
pub(crate) fn packed_checksum(bytes: &[u8]) -> u32 {
    checksum::of([bytes.get(chunk::KIND..chunk::CHECKSUM).unwrap_or_default()])
}

/// The `u16` at an offset; bytes beyond the end count as zero.
pub fn u16_at(bytes: &[u8], offset: usize) -> u16 {
    u16::from_le_bytes(array_at(bytes, offset))
}

/// The `u32` at an offset; bytes beyond the end count as zero.
pub fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    u32::from_le_bytes(array_at(bytes, offset))
}

/// The `u64` at an offset; bytes beyond the end count as zero.
pub fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    u64::from_le_bytes(array_at(bytes, offset))
}

const _: () = assert!(RECORDS_PER_CHUNK * RECORD_BYTES + CHUNK_HEADER_BYTES == CHUNK_BYTES);
const _: () = assert!(header::DROPS + 8 * header::DROP_COUNTERS <= HEADER_BYTES);
const _: () = assert!(header::HOST + header::HOST_BYTES <= header::DROPS);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_comes_back_as_it_went() {
        let message = Message { peer: -1, tag: i32::MAX, bytes: 1 << 40, request: 7 };
        assert_eq!(Message::from_payload(&message.to_payload()), message);
        let collective = Collective { root: NO_ROOT, sent: 1 << 40, received: 3 };
        assert_eq!(Collective::from_payload(&collective.to_payload()), collective);
        assert_eq!(Completion::from_payload(&Completion { request: 9 }.to_payload()).request, 9);
        assert_eq!(message.to_payload()[8..16], (1u64 << 40).to_le_bytes());
        // These fields are stored one by one.
        let call = Call { function: 1, site: 2, duration: 3, request: 4, completed: 5 }.to_payload();
        assert_eq!(u64_at(&call, Call::DURATION), 3);
        assert_eq!((u32_at(&call, Call::REQUEST), u32_at(&call, Call::COMPLETED)), (4, 5));
    }

    #[test]
    fn the_layout_is_the_documented_one() {
        let page = include_str!("../../../docs/event-log.md");
        let documented = |offset: usize, field: &str, what: &str| {
            let row = page
                .lines()
                .find(|line| line.starts_with(&format!("| {offset} | {field}")) && line.contains(what));
            assert!(row.is_some(), "docs/event-log.md has no row for {what} at {offset}");
        };
        documented(header::MAGIC, "`[u8; 8]`", "magic");
        documented(header::VERSION, "`u32`", &format!("version: {VERSION}"));
        documented(header::RECORD_BYTES, "`u32`", "size of a record: 32");
        documented(header::CHUNK_BYTES, "`u32`", "size of a chunk: 1 048 576");
        documented(header::RANK, "`u32`", "rank in `MPI_COMM_WORLD`");
        documented(header::WORLD_SIZE, "`u32`", "size of `MPI_COMM_WORLD`");
        documented(header::PID, "`u32`", "process identifier");
        documented(header::TICKS_PER_SECOND, "`u64`", "ticks of the clock");
        documented(header::ORIGIN_TICKS, "`u64`", "tick of the origin");
        documented(header::ORIGIN_REALTIME_NANOS, "`u64`", "nanoseconds since 1970");
        documented(header::END_TICKS, "`u64`", "finished");
        documented(header::STATE, "`u32`", "state: 1 running, 2 finalised");
        documented(header::CHUNKS, "`u32`", "number of chunks taken");
        documented(header::IDENTITY_CHECKSUM, "`u32`", "checksum of the bytes 0 to 56");
        documented(header::END_CHECKSUM, "`u32`", "checksum of the bytes 56 to 68");
        documented(header::HOST, "`[u8; 256]`", "host name");
        documented(header::DROPS, "`[u64; 256]`", "records lost");
        documented(chunk::MAGIC, "`u32`", "`MCHK`");
        documented(chunk::KIND, "`u32`", "1 events, 2 definitions");
        documented(chunk::STREAM, "`u32`", "number of the stream");
        documented(chunk::SEQUENCE, "`u32`", "sequence number");
        documented(chunk::SEALED, "`u32`", "are final");
        documented(chunk::CHECKSUM, "`u32`", "checksum");
        documented(CHUNK_HEADER_BYTES, "", "records, text, or packed chunks");
        assert_eq!((RECORD_BYTES, CHUNK_BYTES, HEADER_BYTES), (32, 1_048_576, 4096));
        for (number, what) in [
            (kind::ENTER, "entered"),
            (kind::LEAVE, "left"),
            (kind::MPI_SEND, "blocking send"),
            (kind::MPI_ISEND, "send started"),
            (kind::MPI_ISEND_COMPLETE, "sends completed"),
            (kind::MPI_IRECV_REQUEST, "receive posted"),
            (kind::MPI_IRECV, "receive completed"),
            (kind::MPI_RECV, "blocking receive"),
            (kind::REQUEST_CANCELLED, "cancelled"),
            (kind::DROPPED, "lost"),
            (kind::CALL, "a call"),
            (kind::COLLECTIVE, "a collective operation"),
            (kind::RECORDING, "switched"),
            (kind::REQUEST_TESTED, "tested"),
            (kind::COLLECTIVE_REQUEST, "has a request"),
            (kind::COLLECTIVE_COMPLETE, "collective operation with a request is complete"),
            (kind::CONTINUATION, "20 more bytes"),
            (kind::PHASE, "enters a phase"),
            (kind::REGION, "in this region"),
            (kind::CALLSITE, "is called from"),
            (kind::UNSEEN_MESSAGES, "messages went unseen"),
            (kind::UNSEEN_EVENTS, "events went unseen"),
            (kind::SAMPLE, "had this value"),
            (kind::WORKED, "worked between its tests"),
            (kind::DESCRIBED, "sends, receives and computes"),
            (kind::OVERLAP, "buffers overlapped"),
            (kind::TRUNCATED, "longer than the receive"),
            (kind::FAILED, "has failed otherwise"),
            (kind::RMA_OPERATION, "put"),
            (kind::RMA_LAST_OPERATION, "compare and swap"),
            (kind::RMA_COMPLETE, "complete"),
            (kind::RMA_REQUEST_COMPLETE, "with a request"),
            (kind::RMA_FENCE_BEGIN, "fence was entered"),
            (kind::RMA_FENCE_END, "fence was passed"),
            (kind::RMA_GROUP, "exposure epoch"),
            (kind::RMA_LOCK_REQUEST, "asked for"),
            (kind::RMA_LOCK, "granted"),
            (kind::RMA_UNLOCK, "given back"),
            (kind::WIN_CREATE, "made"),
            (kind::WIN_DESTROY, "freed"),
            (kind::RMA_EPOCH, "epoch has ended"),
        ] {
            documented(number.into(), "", what);
        }
        assert_eq!((kind::EVENT, kind::PAIR), (4096, 8192));
        assert_eq!((kind::PAIR_INSERTING, kind::PAIR_REMOVING), (12_288, 16_384));
    }

    #[test]
    fn short_payloads_count_as_zero() {
        assert_eq!(Message::from_payload(&[]), Message::default());
        assert_eq!(u64_at(&[1, 2], 1), 2);
        assert_eq!(u32_at(&[1, 2], 9), 0);
    }
}
