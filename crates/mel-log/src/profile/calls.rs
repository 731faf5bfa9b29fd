//! The calls of a rank in a profile: by MPI function, call site, communicator and thread.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Histogram;
use crate::Members;

/// A place in the program that calls MPI.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct CallSite {
    /// The source file as the compiler was given it; empty without debug information.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub file: String,
    /// Its line, from 1; 0 without debug information.
    #[serde(skip_serializing_if = "is_zero")]
    pub line: u32,
    /// The function that the call stands in; empty where it has no name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub function: String,
    /// The program or library.
    pub module: String,
    /// The return address of the call, as the module's file counts addresses.
    pub offset: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_none_given(bytes: &u64) -> bool {
    *bytes == 0
}

impl fmt::Display for CallSite {
    /// `halo.c:42 (exchange)`; without debug information `exchange, app+0x1234`, or `app+0x1234`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        match (self.line, self.function.as_str()) {
            (0, "") => write!(f, "{}+{:#x}", name(&self.module), self.offset),
            (0, function) => write!(f, "{function}, {}+{:#x}", name(&self.module), self.offset),
            (line, "") => write!(f, "{}:{line}", name(&self.file)),
            (line, function) => write!(f, "{}:{line} ({function})", name(&self.file)),
        }
    }
}

/// A communicator of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NamedCommunicator {
    /// Its identity, the same in all of its processes.
    pub context: u64,
    /// Its name, for example `MPI_COMM_WORLD`; where the program gave none, one that says what it is.
    pub name: String,
    /// Number of its processes.
    pub size: u32,
    /// The rank in `MPI_COMM_WORLD` of each of its ranks, as `[first, count, stride]`, if traffic was counted.
    #[serde(skip_serializing_if = "Members::is_empty")]
    pub members: Members,
    /// The same of the remote group, for an intercommunicator: the two groups of one rank's view, whichever was seen first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote: Option<Members>,
}

/// What one thread did in one MPI function, from one call site, on one communicator.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CallProfile {
    /// The thread of this rank, from 0 in the order of their first calls.
    pub thread: u32,
    /// The MPI function, for example `MPI_Recv`.
    pub function: String,
    /// The call site, as a place in the profile's `sites`; absent where it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub site: Option<u32>,
    /// The communicator, as a place in the profile's `communicators`; absent for calls that have none. Calls that complete
    /// requests have an entry without a communicator for the calls themselves, and one for each communicator of which they have
    /// completed messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub communicator: Option<u32>,
    /// The phase of the program, as a place in the profile's `phases`.
    #[serde(skip_serializing_if = "is_zero")]
    pub phase: u32,
    /// Number of calls.
    pub calls: u64,
    /// Time in them.
    pub total_s: f64,
    /// The longest.
    pub max_s: f64,
    /// Bytes that they have sent: the data of the calling process, for collective operations too.
    pub bytes_sent: u64,
    /// Bytes of the messages that they have received.
    pub bytes_received: u64,
    /// Of collective operations: bytes of the data as the program gives it, count times type, whoever it goes to or comes from.
    #[serde(skip_serializing_if = "is_none_given")]
    pub bytes_given: u64,
    /// Distribution of the durations.
    #[serde(skip_serializing_if = "Histogram::is_empty")]
    pub times: Histogram,
    /// What the receives posted here found in the queues, and what their searches took; modelled.
    #[serde(skip_serializing_if = "MessagesFound::is_empty")]
    pub messages: MessagesFound,
    /// Time lost here, by who had caused it; estimated.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<WaitProfile>,
}

/// What receives have found in the queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MessagesFound {
    /// Messages that came after their receive was posted.
    pub expected: u64,
    /// Messages that came before.
    pub unexpected: u64,
    /// Bytes of those, which MPI has to store and to copy.
    pub unexpected_bytes: u64,
    /// Time in searches of the unexpected queue.
    pub search_s: f64,
    /// The longest of them.
    pub longest_search_s: f64,
}

impl MessagesFound {
    /// Whether there is nothing to say.
    pub fn is_empty(&self) -> bool {
        *self == MessagesFound::default()
    }
}

/// Why a call waited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitKind {
    /// A receive waited for a message that was sent late.
    #[default]
    LateSender,
    /// A send waited for a receive that was posted late.
    LateReceiver,
    /// A send waited for a receiver that had posted the receive and was outside of MPI.
    WithoutProgress,
    /// A collective operation waited for the process that came last.
    Collective,
    /// A collective operation waited for a member whose data it does not need: data passes through it, or is large.
    LateMember,
    /// A call that synchronises a window waited for another process.
    Window,
    /// A thread tested again and again whether something is complete, or has come.
    Polling,
}

/// Time that calls have lost waiting for one process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WaitProfile {
    /// Why.
    pub kind: WaitKind,
    /// Whom they waited for: its rank in `MPI_COMM_WORLD`; absent where it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer: Option<u32>,
    /// The call site of the peer that ended the waiting, such as that of the late send: a place in the profile's `sites`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer_site: Option<u32>,
    /// How often.
    pub count: u64,
    /// The time lost.
    pub lost_s: f64,
    /// The most in one call.
    pub max_s: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_site_is_as_precise_as_its_debug_information() {
        let mut site = CallSite {
            file: "/src/halo.c".into(),
            line: 42,
            function: "exchange".into(),
            module: "/opt/bin/halo".into(),
            offset: 0x1234,
        };
        assert_eq!(site.to_string(), "halo.c:42 (exchange)");
        site.line = 0;
        assert_eq!(site.to_string(), "exchange, halo+0x1234");
        site.function.clear();
        assert_eq!(site.to_string(), "halo+0x1234");
    }
}
