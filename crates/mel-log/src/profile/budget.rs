//! Where the ranks' time between `MPI_Init` and `MPI_Finalize` goes: parts that add up to all of it.

use serde::{Deserialize, Serialize};

/// The time of one rank, or of all together, in seconds. The parts add up to `total_s`. Of a rank with several threads that call MPI each
/// part is the mean over these threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Parts {
    /// From the exit of `MPI_Init*` to the entry of `MPI_Finalize`, and the time that the rank waited there for others.
    pub total_s: f64,
    /// Outside of MPI, but for what lies between the tests of a thread that polls.
    pub computing_s: f64,
    /// Waiting for others; estimated.
    pub waiting_s: f64,
    /// Moving data, and the library's own work; estimated.
    pub data_s: f64,
    /// Searching queues, and copying messages that came before their receives; modelled.
    pub queues_s: f64,
    /// In calls about files, without waiting for others.
    pub files_s: f64,
    /// In MPI for no reason that is known.
    pub unexplained_s: f64,
}

impl Parts {
    /// Adds those of another rank.
    pub fn add(&mut self, more: &Parts) {
        let Parts { total_s, computing_s, waiting_s, data_s, queues_s, files_s, unexplained_s } = more;
        self.total_s += total_s;
        self.computing_s += computing_s;
        self.waiting_s += waiting_s;
        self.data_s += data_s;
        self.queues_s += queues_s;
        self.files_s += files_s;
        self.unexplained_s += unexplained_s;
    }

    /// Each part with its words, in the order in which they are told.
    pub fn named(&self) -> [(&'static str, f64); 6] {
        [
            ("computing", self.computing_s),
            ("waiting for others", self.waiting_s),
            ("moving data and the library's own work", self.data_s),
            ("queues", self.queues_s),
            ("files", self.files_s),
            ("not explained", self.unexplained_s),
        ]
    }
}

/// The time of all ranks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Budget {
    /// The parts, of all ranks together.
    #[serde(flatten)]
    pub parts: Parts,
    /// What `waiting_s` consists of, by rule, the one that cost most first.
    pub waiting: Vec<Waiting>,
    /// Where the time is that is not explained, the most first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unexplained: Vec<Unexplained>,
    /// The functions with time in them in which ranks may have waited without being looked at.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_looked_at: Vec<String>,
}

/// Time lost by one rule.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Waiting {
    /// The rule's name, for example `late_sender`.
    pub rule: String,
    /// The time lost, of all ranks together.
    pub lost_s: f64,
}

/// Time in MPI for no reason that is known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Unexplained {
    /// The MPI function.
    pub function: String,
    /// `file:line (function)`; absent where it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub site: Option<String>,
    /// The time, of all ranks together.
    pub seconds: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_in_the_file_beside_the_lists() {
        let parts = Parts { total_s: 2.0, computing_s: 1.5, unexplained_s: 0.5, ..Parts::default() };
        let budget = Budget { parts, ..Budget::default() };
        let json = serde_json::to_value(&budget).unwrap();
        assert_eq!((json["total_s"].as_f64(), json["unexplained_s"].as_f64()), (Some(2.0), Some(0.5)));
        assert_eq!(serde_json::from_value::<Budget>(json).unwrap(), budget);
        let told: f64 = parts.named().iter().map(|part| part.1).sum();
        assert_eq!(told, parts.total_s);
    }
}
