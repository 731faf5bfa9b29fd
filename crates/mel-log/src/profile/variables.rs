//! The performance variables of a rank, as they were sampled while it ran.

use serde::{Deserialize, Serialize};

/// A variable on one object, or one of its elements.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct VariableProfile {
    /// Its name.
    pub name: String,
    /// Its class, as MPI has it, in lower case: `level`, `counter` and so on.
    pub class: String,
    /// What it means.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Whether it is one of the MPI's own, and not one of MEL's.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub of_mpi: bool,
    /// The communicator or window that it was read for; empty where it is bound to nothing.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub object: String,
    /// Which element of the variable, from 0; absent for the only one, and for the sum of all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub element: Option<u32>,
    /// How often it was read; 0 of one that is listed only.
    pub samples: u64,
    /// The first sample and the last, in seconds since the rank has called `MPI_Init*`.
    pub first_s: f64,
    /// See `first_s`.
    pub last_s: f64,
    /// The value at the first sample.
    pub first: f64,
    /// The value at the last sample.
    pub last: f64,
    /// By how much it has grown between these, if it counts up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grown: Option<f64>,
    /// The least value; of one that counts up, the least rate between two samples, per second.
    pub min: f64,
    /// Their mean.
    pub mean: f64,
    /// The greatest.
    pub max: f64,
    /// Their standard deviation.
    pub deviation: f64,
    /// Time in seconds and value of some samples, the first and the last among them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub curve: Vec<(f64, f64)>,
}

impl VariableProfile {
    /// Whether it counts up, so that differences and rates are told of it.
    pub fn counts(&self) -> bool {
        counts(&self.class)
    }
}

/// Whether variables of this class count up.
pub fn counts(class: &str) -> bool {
    matches!(class, "counter" | "aggregate" | "timer")
}
