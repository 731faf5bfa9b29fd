//! What `libmel.so` says where it is asked outside of a program: which events and variables there are, what an MPI library offers, what
//! this system allows.
//!
//! The command knows nothing of MPI itself. It opens the library, calls its function [`ENTRY`] with a question in words, and gets
//! answers, each one JSON value.
//!
//! | question | answers |
//! |---|---|
//! | `events` | [`Events`]: of this library |
//! | `events PATH` | [`Events`]: and of an MPI library, which is initialised for that |
//! | `variables` | [`Variable`] each, of this library |
//! | `variables PATH` | [`Line`]s: of an MPI library, before it is initialised, and then |
//! | `setting NAME VALUE` | why a control variable of this library cannot have that value, or `null` |
//! | `library PATH` | [`Library`]: what an MPI library is |
//! | `clock` | whether the processor's time stamp counter is the clock |
//! | `hold` | an address in shared memory, five numbers; then waits for the end of standard input |
//! | `reach NUMBER...` | [`Reached`]: whether the memory at such an address could be shared |

use std::ffi::{CStr, c_char, c_int, c_void};

use serde::{Deserialize, Serialize};

/// The name of the function.
pub const ENTRY: &CStr = c"mel_offers";

/// Takes one answer, or a sentence that says what is wrong: `bytes` bytes of text, valid until it returns.
pub type Say = unsafe extern "C" fn(context: *mut c_void, is_wrong: bool, text: *const u8, bytes: usize);

/// [`ENTRY`]: answers the question in `number` words, C strings. Gives 0; or 1 where something is wrong, which is the last that is said.
pub type Entry =
    unsafe extern "C" fn(words: *const *const c_char, number: usize, say: Say, context: *mut c_void) -> c_int;

/// The event types, and who raises them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Events {
    /// Those of MEL, then those of the MPI itself.
    pub types: Vec<EventType>,
    /// The name of another one, which stands for the same as one of MEL's.
    pub alias: String,
    /// What raises the events of queues under the settings of the environment: names and what each is.
    pub backends: Vec<(String, String)>,
    /// All that could, by their names.
    pub all_backends: Vec<String>,
    /// Whether the clock is the processor's time stamp counter.
    pub is_tsc: bool,
    /// The MPI library that was asked.
    pub mpi: Option<Library>,
}

/// An event type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventType {
    /// Its unique name.
    pub name: String,
    /// What it means, in a sentence.
    pub description: String,
    /// Names of the elements of its payload.
    pub elements: Vec<String>,
    /// The kind of MPI object that it is bound to, for example `MPI_COMM`; empty for none.
    pub bind: String,
    /// Where its events come from, for example `model`.
    pub source: String,
}

/// What an MPI library says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Library {
    /// Its name and version.
    pub name: String,
    /// The standard that it follows, and whose binary interface it has.
    pub interface: String,
    /// Whether it is Open MPI, by its binary interface.
    pub open_mpi: bool,
    /// How many event types it has itself.
    pub events: usize,
    /// Whether its `ob1` itself reports on its queues.
    pub peruse: bool,
    /// Why, or why not.
    pub why: String,
    /// Who tells of the messages that it makes of collective operations (`mel run --inside`).
    pub inside: Inside,
}

/// Who tells of the messages that an MPI library makes of collective operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Inside {
    /// Open MPI's own component.
    Component,
    /// PERUSE.
    Peruse,
    /// They are handed over to UCX: those between nodes, and those within a node unless the library has ways of its own there.
    Ucx,
    /// Nobody.
    Nobody,
}

/// A control or performance variable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variable {
    /// `control` or `performance`
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Whose it is: `MPI` or `MEL`.
    pub of: String,
    /// Of a performance variable.
    pub class: String,
    /// Of a control variable.
    pub scope: String,
    /// The type of its elements, in small letters.
    pub datatype: String,
    /// The kind of object that it is bound to, or `nothing`.
    pub bound_to: String,
    /// Whether it cannot be set.
    pub readonly: bool,
    /// Empty where it was not read.
    pub value: String,
    /// The values that it may have, where that is known.
    #[serde(default)]
    pub allowed: String,
    /// Why there is no value.
    #[serde(default)]
    pub note: String,
    /// Whether the MPI, as one process, has it before `MPI_Init` only: the value is that.
    #[serde(default)]
    pub is_until_init: bool,
    /// What it means.
    pub description: String,
}

/// What is said while the variables of an MPI are read.
#[derive(Debug, Serialize, Deserialize)]
pub enum Line {
    /// The MPI.
    Mpi(String),
    /// A variable; it is read next.
    Variable(Box<Variable>),
    /// The values that it may have.
    Items(Vec<(i32, String)>),
    /// Its value, or why there is none.
    Value(Result<String, String>),
    /// MPI is initialised: variables from here on are those that it has then.
    Initialised,
    /// That was the last one.
    End,
}

/// What one process could do with another's memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reached {
    /// Why no memory could be shared.
    pub why_not_shared: Option<String>,
    /// Whether any may be read.
    pub may_be_read: bool,
}
