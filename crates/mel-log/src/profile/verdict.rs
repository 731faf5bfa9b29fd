//! The verdict on a run: what costs time, who is the cause, and what to do. `docs/verdict.md` has the rules.

use serde::{Deserialize, Serialize};

/// How a finding was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// From sums over the run.
    #[default]
    Estimated,
    /// From each call of a trace.
    Exact,
}

/// One thing that costs time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Finding {
    /// The name of the rule, for example `late_sender`.
    pub rule: String,
    /// The patterns of the rule that a trace tells apart, the one that cost most first; only where `basis` is `exact`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub patterns: Vec<Pattern>,
    /// The time lost, of all ranks together.
    pub lost_s: f64,
    /// The same as a share (0 to 1) of the time of all ranks between `MPI_Init` and `MPI_Finalize`.
    pub share: f64,
    /// The rank in `MPI_COMM_WORLD` that is the cause, the waiting of others followed back to it; absent where there is not one.
    pub cause_rank: Option<u32>,
    /// The ranks that lose time, the one that loses most first.
    pub victims: Vec<u32>,
    /// The communicator's name; absent where there is none, or several.
    pub communicator: Option<String>,
    /// The phases of the program in which most of the time is lost; none where it names none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<String>,
    /// Where the time is lost: `file:line (function)`.
    pub site: Option<String>,
    /// Where the cause is: the call of the causing rank that ended the waiting.
    pub cause_site: Option<String>,
    /// How many calls have lost time.
    pub count: u64,
    /// How this was found.
    pub basis: Basis,
    /// The finding in a sentence.
    pub text: String,
    /// What to change, in a sentence.
    pub advice: String,
    /// Why the cause is slow, by what the operating system counted of it beside the others; absent where nothing explains it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// By how much the run would be shorter without it, in seconds; absent where that cannot be computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub would_win_s: Option<f64>,
    /// Time lost by rank, in the order of `victims`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lost_by_rank_s: Vec<f64>,
    /// The worst instances, worst first; only where `basis` is `exact`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub worst: Vec<Instance>,
}

/// The rules about the message queues, of which the first ones are about searches.
const OF_QUEUES: [&str; 3] = ["long_searches", "wildcard_cost", "unexpected_copies"];
const OF_SEARCHES: usize = 2;

impl Finding {
    /// Whether the message queues have cost the time.
    pub fn is_of_queues(&self) -> bool {
        OF_QUEUES.contains(&self.rule.as_str())
    }

    /// Whether searches of them have.
    pub fn is_of_searches(&self) -> bool {
        OF_QUEUES[..OF_SEARCHES].contains(&self.rule.as_str())
    }
}

/// A pattern of a rule, as the catalogue of point-to-point inefficiencies has it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pattern {
    /// Its name, for example `late_standard_send`.
    pub name: String,
    /// The time lost with it, of all ranks together.
    pub lost_s: f64,
    /// How many calls have lost time with it.
    pub count: u64,
}

/// One call that has lost time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Instance {
    /// The rank that lost it.
    pub rank: u32,
    /// When the waiting began, in seconds since the begin of the trace.
    pub begin_s: f64,
    /// How long it lasted.
    pub lost_s: f64,
}
