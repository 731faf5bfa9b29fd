//! What a trace has of one rank, until it is written behind that of the ranks before; and the names that its packets write once and then
//! refer to by number.

use std::io::{self, Read, Seek, Write};

use prost::Message as _;
use rustc_hash::FxHashMap;
use tempfile::SpooledTempFile;

use super::proto::{InternedData, Name, Packet, Trace};

/// More bytes of a rank go into a temporary file.
const IN_MEMORY: usize = 16 << 20;

/// The number of a thread that depends on the ranks before.
pub(super) const OPEN: i32 = -1;

/// The packets of a rank, encoded; but for those that describe threads whose numbers are open.
pub(super) struct Part {
    bytes: SpooledTempFile,
    length: u64,
    /// Behind how many bytes each belongs.
    kept: Vec<(u64, Packet)>,
}

impl Default for Part {
    fn default() -> Part {
        Part { bytes: SpooledTempFile::new(IN_MEMORY), length: 0, kept: Vec::new() }
    }
}

impl Packet {
    /// Whether it describes a thread whose number is open.
    pub(super) fn has_open_thread(&self) -> bool {
        let thread = self.track_descriptor.as_ref().and_then(|track| track.thread.as_ref());
        thread.is_some_and(|thread| thread.tid == Some(OPEN))
    }
}

impl Part {
    pub(super) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.length += bytes.len() as u64;
        self.bytes.write_all(bytes)
    }

    /// A packet that describes a thread whose number is open.
    pub(super) fn keep(&mut self, packet: Packet) {
        self.kept.push((self.length, packet));
    }

    /// Writes it, with the next numbers of threads.
    pub(super) fn write(self, out: &mut impl Write, next_thread: &mut i32) -> io::Result<()> {
        let Part { mut bytes, length, kept } = self;
        bytes.rewind()?;
        let mut written = 0;
        for (place, mut packet) in kept {
            io::copy(&mut Read::by_ref(&mut bytes).take(place - written), out)?;
            written = place;
            let thread = packet.track_descriptor.as_mut().and_then(|track| track.thread.as_mut());
            thread.into_iter().for_each(|thread| thread.tid = Some(*next_thread));
            *next_thread += 1;
            out.write_all(&Trace { packet: vec![packet] }.encode_to_vec())?;
        }
        io::copy(&mut bytes.take(length - written), out)?;
        Ok(())
    }
}

/// What a name is for: each kind is numbered by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// An event.
    Event,
    /// A debug annotation.
    Annotation,
    /// The value of a debug annotation.
    Text,
}

/// The names of a sequence.
#[derive(Debug, Default)]
pub(super) struct Names {
    known: [FxHashMap<String, u64>; 3],
    new: Option<InternedData>,
}

impl Names {
    /// The number of a name; a new one goes with the next packet.
    pub(super) fn number(&mut self, kind: Kind, name: &str) -> u64 {
        let known = &mut self.known[kind as usize];
        if let Some(number) = known.get(name) {
            return *number;
        }
        let number = known.len() as u64 + 1;
        known.insert(name.to_owned(), number);
        let new = self.new.get_or_insert_default();
        let list = match kind {
            Kind::Event => &mut new.event_names,
            Kind::Annotation => &mut new.debug_annotation_names,
            Kind::Text => &mut new.debug_annotation_string_values,
        };
        list.push(Name { iid: Some(number), name: Some(name.to_owned()) });
        number
    }

    /// The names that no packet has had yet.
    pub(super) fn take_new(&mut self) -> Option<InternedData> {
        self.new.take()
    }
}
