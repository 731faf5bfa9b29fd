//! What the operating system counted of a process between `MPI_Init` and `MPI_Finalize`.

use serde::{Deserialize, Serialize};

use crate::Definition;

/// Of all threads of a rank. Numbers that the system does not tell are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Resources {
    /// Time on a processor in the program's own code and in libraries, in seconds.
    pub user_s: f64,
    /// Time on a processor in the operating system, in seconds.
    pub system_s: f64,
    /// How long the quota of its control group stopped the processes in it, in seconds.
    pub throttled_s: f64,
    /// Pages that were not in memory.
    pub page_faults: u64,
    /// Those of them that were read from a disk.
    pub disk_faults: u64,
    /// Bytes that it has asked for from files, pipes and sockets.
    pub read_bytes: u64,
    /// Bytes that it has written to them.
    pub written_bytes: u64,
}

impl Resources {
    /// The difference of the two readings in the definitions of a table; none where there are not two.
    #[must_use]
    pub fn of(definitions: &[Definition]) -> Option<Resources> {
        let mut readings = definitions.iter().filter_map(|definition| match definition {
            Definition::Resources { counted } => Some(counted),
            _ => None,
        });
        let (first, last) = (readings.next()?, readings.next_back()?);
        Some(Resources {
            user_s: (last.user_s - first.user_s).max(0.0),
            system_s: (last.system_s - first.system_s).max(0.0),
            throttled_s: (last.throttled_s - first.throttled_s).max(0.0),
            page_faults: last.page_faults.saturating_sub(first.page_faults),
            disk_faults: last.disk_faults.saturating_sub(first.disk_faults),
            read_bytes: last.read_bytes.saturating_sub(first.read_bytes),
            written_bytes: last.written_bytes.saturating_sub(first.written_bytes),
        })
    }
}
