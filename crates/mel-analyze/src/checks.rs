//! Mistakes that did no harm in this run, as remarks.
//!
//! - [`storage`]: sends that end only because the library stores their messages.
//! - [`members`]: ranks that come to one collective operation with something else.
//! - [`data`]: messages whose ends have other types, or too little room; buffers that two operations use at the same time.
//!
//! The first two are in each trace of a whole run; of types, operations and buffers a trace tells under `mel run --check` alone.

mod data;
mod members;
mod storage;

use mel_log::profile::remarks::Remark;
use mpi_functions::Function;
use mpi_functions::signature::Signature;

use crate::model::Entry;
use crate::names::{Names, Processes, call_at};
use crate::operations::Operation;
use crate::units::Unit;

pub use data::Noticed;

/// What is kept of the run for it.
#[derive(Clone, Debug, Default)]
pub struct Checks {
    storage: storage::Storage,
    members: members::Members,
    data: data::Data,
    /// Whether it is not known which message is which, for not all that were sent are seen to be received: a receive has failed, or one that
    /// was received is longer than what was sent. So it is after a send that was cancelled and freed, as no call has said that it was.
    is_shifted: bool,
}

impl Checks {
    /// A rank has used a wildcard or probed.
    pub fn chooses(&mut self, rank: u32) {
        self.storage.chooses(rank);
    }

    /// Messages of a call are complete.
    pub fn unit(&mut self, unit: &Unit, names: &Names) {
        self.is_shifted |= unit.parts.iter().any(|part| !part.sends && part.own.bytes > part.other.bytes);
        self.storage.unit(unit, names);
        self.data.unit(unit);
    }

    /// A process leaves a collective operation.
    pub fn leaves(&mut self, entry: &Entry, operation: &Operation, of: (&Processes, &Function)) {
        self.storage.leaves(entry, operation, of);
    }

    /// A process leaves an operation, the last one to do so or not: whether it has come with the same as whoever entered first.
    pub fn compare(&mut self, entry: &Entry, of: (&Operation, bool), names: &Names, processes: &Processes) {
        self.members.compare(entry, of, names, processes);
    }

    /// The program's own check has noticed something about a rank.
    pub fn noticed(&mut self, rank: u32, noticed: Noticed) {
        self.is_shifted |= matches!(noticed, Noticed::Truncated(_) | Noticed::Shifted);
        self.data.noticed(rank, noticed);
    }

    /// What is worth a remark; `lines` has the lines of call sites with their functions.
    pub fn remarks(mut self, names: &Names, lines: &[(String, Option<String>)]) -> Vec<Remark> {
        let of_function = |site, number| {
            call_at(lines, site, names.function(number).map(|function| function.name.as_str()))
        };
        let at = |site| call_at(lines, site, None);
        let mut remarks = Vec::new();
        if !self.is_shifted {
            remarks.extend(self.storage.remarks(&of_function));
            remarks.extend(self.data.types(&at));
        }
        remarks.extend(self.members.remarks(names, &at));
        remarks.extend(self.data.noticed_remarks(&at));
        remarks
    }
}

/// The elements that a signature is of, where it is known.
fn elements(signature: Signature) -> String {
    match signature.first() {
        Some(first) if signature == Signature::of(&[first]) => {
            format!("{}-byte {}", first.bytes(), first.name())
        }
        Some(first) => format!("structures that begin with {}-byte {}", first.bytes(), first.name()),
        None => "elements that are not known".to_owned(),
    }
}

/// How often, where that is more than once.
fn times(count: u64) -> String {
    if count > 1 { format!(" ({count} times)") } else { String::new() }
}
