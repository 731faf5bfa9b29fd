//! The times of a rank as a whole, and how it ended.

use super::{Basis, Fold, Quantity, Unit};
use crate::profile::columns::{CAUSED, IN_MPI, RUN, TIME, WAITING};
use crate::profile::ends::Ended;
use crate::profile::schema::RankProfile;
use crate::profile::sums::{self, Sum};

const OF_RANK: Quantity<RankProfile> = Quantity { group: TIME, unit: Unit::Seconds, ..Quantity::NONE };

/// Of a rank whose calls were counted.
fn calls(rank: &RankProfile, of: impl Fn(&Sum) -> f64) -> Option<f64> {
    (!rank.calls.is_empty()).then(|| of(&sums::of_rank(rank)))
}

/// The times of a rank, and whether it has ended as it should.
pub const TIMES: &[Quantity<RankProfile>] = &[
    Quantity {
        name: RUN,
        key: "run_s",
        sentence: "from the exit of MPI_Init to the entry of MPI_Finalize",
        of: |rank| Some(rank.run_s),
        over_ranks: true,
        ..OF_RANK
    },
    Quantity {
        name: IN_MPI,
        sentence: "the part of that in MPI, of all threads together",
        of: |rank| calls(rank, |sum| sum.total_s),
        over_ranks: true,
        ..OF_RANK
    },
    Quantity {
        name: WAITING,
        basis: Basis::Estimated,
        sentence: "the part of that which is lost waiting",
        of: |rank| calls(rank, |sum| sum.lost_s),
        over_ranks: true,
        ..OF_RANK
    },
    Quantity {
        name: CAUSED,
        key: "caused_s",
        basis: Basis::Estimated,
        sentence: "time that other ranks lost waiting for this one, their waiting followed back to its cause",
        of: |rank| Some(rank.caused_s),
        over_ranks: true,
        ..OF_RANK
    },
    Quantity {
        name: "init",
        key: "init_s",
        sentence: "time in MPI_Init",
        of: |rank| Some(rank.init_s),
        ..OF_RANK
    },
    Quantity {
        name: "finalised",
        unit: Unit::Count,
        fold: Fold::Min,
        sentence: "1 where it has reached MPI_Finalize, else 0",
        of: |rank| Some(f64::from(u8::from(rank.ended == Ended::Finalised))),
        ..OF_RANK
    },
];
