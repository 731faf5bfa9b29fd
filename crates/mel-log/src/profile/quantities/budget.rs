//! Where the time of a rank goes, in parts that add up to all of it; and its processors.

use super::{Basis, Quantity, Unit};
use crate::profile::schema::RankProfile;

/// The name of the time outside of MPI.
pub const COMPUTING: &str = "computing";

/// The entries, in the order in which they are told; the first is the whole.
macro_rules! parts {
    ($($field:ident $name:tt $basis:ident $sentence:literal;)*) => {
        &[$(Quantity {
            group: "budget",
            name: $name,
            key: concat!("budget.", stringify!($field)),
            unit: Unit::Seconds,
            basis: Basis::$basis,
            sentence: $sentence,
            of: |rank| rank.budget.map(|budget| budget.$field),
            // What efficiencies are computed of is known of very many ranks, too.
            over_ranks: matches!(stringify!($field).as_bytes(), b"computing_s"),
            ..Quantity::NONE
        }),*]
    };
}

/// Where the time of a rank goes.
pub const BUDGET: &[Quantity<RankProfile>] = parts! {
    total_s "total" Observed "from the exit of MPI_Init to the entry of MPI_Finalize, and the time waited there";
    computing_s COMPUTING Observed "outside of MPI, but for what lies between the tests of a thread that polls";
    waiting_s "waiting" Estimated "waiting for others";
    data_s "data" Estimated "moving data, and the library's own work";
    queues_s "queues" Modelled "searching queues, and copying messages that came before their receives";
    files_s "files" Observed "in calls about files, without waiting for others";
    unexplained_s "unexplained" Estimated "in MPI for no reason that is known";
};

const PROCESSORS_OF_RANK: Quantity<RankProfile> =
    Quantity { group: "processors", unit: Unit::Seconds, basis: Basis::Observed, ..Quantity::NONE };

/// How long the thread of a rank that calls MPI had a processor, and could have run and had none.
pub const PROCESSORS: &[Quantity<RankProfile>] = &[
    Quantity {
        name: "used",
        key: "processors.used_s",
        sentence: "time on a processor since MPI_Init",
        of: |rank| rank.processors.as_ref()?.used_s,
        ..PROCESSORS_OF_RANK
    },
    Quantity {
        name: "waited",
        key: "processors.waited_s",
        sentence: "time that it could have run and had no processor",
        of: |rank| rank.processors.as_ref()?.waited_s,
        ..PROCESSORS_OF_RANK
    },
];

macro_rules! resources {
    ($($field:ident $name:tt $unit:ident $sentence:literal;)*) => {
        &[$(Quantity {
            group: "resources",
            name: $name,
            key: concat!("resources.", stringify!($field)),
            unit: Unit::$unit,
            basis: Basis::Observed,
            sentence: $sentence,
            of: |rank| rank.resources.map(|counted| counted.$field as f64),
            ..Quantity::NONE
        }),*]
    };
}

/// What the operating system counted of all threads of a rank since `MPI_Init`.
pub const RESOURCES: &[Quantity<RankProfile>] = resources! {
    user_s "user" Seconds "time on a processor in the program and in libraries";
    system_s "system" Seconds "time on a processor in the operating system";
    throttled_s "throttled" Seconds "time in which the quota of the control group stopped the processes in it";
    page_faults "page faults" Count "pages that were not in memory";
    disk_faults "disk faults" Count "pages that were read from a disk";
    read_bytes "read" Bytes "asked for from files, pipes and sockets";
    written_bytes "written" Bytes "written to files, pipes and sockets";
};
