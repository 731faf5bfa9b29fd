//! A run as a whole: what `mel diff` compares first, and what its conditions name. How well ranks are used: the efficiencies of a run, or of
//! one of its phases.

use super::{Basis, Fold, Quantity, Unit, queues};
use crate::profile::columns::{RUN as RUN_TIME, TIME};
use crate::profile::efficiency::Efficiency;
use crate::profile::over_ranks::OverRanks;
use crate::profile::schema::{Profile, RankProfile};
use crate::profile::sums::{run_s, whole};

impl Quantity<RankProfile> {
    /// The number of all ranks together; none where no rank has any, and where the sums over very many do not have it.
    pub fn over_run(&self, profile: &Profile) -> Option<f64> {
        let Some(reduced) = &profile.reduced else { return self.folded(&profile.ranks) };
        let over = reduced.over(self.group, self.name)?;
        match self.fold {
            Fold::Sum => Some(over.sum),
            Fold::Min => over.min().map(|min| min.1),
            Fold::Max => over.max().map(|max| max.1),
            Fold::None => None,
        }
    }
}

/// The sum over a run of quantities that ranks have, each by group and name.
fn sum(profile: &Profile, of: &[(&[Quantity<RankProfile>], &str)]) -> Option<f64> {
    let named = of.iter().filter_map(|(group, name)| group.iter().find(|known| known.name == *name));
    Some(named.filter_map(|quantity| quantity.over_run(profile)).sum())
}

/// From the exit of `MPI_Init` to the entry of `MPI_Finalize`, of the rank that took longest.
fn longest_run_s(profile: &Profile) -> f64 {
    match &profile.reduced {
        Some(reduced) => reduced.over(TIME, RUN_TIME).and_then(OverRanks::max).map_or(0.0, |max| max.1),
        None => profile.ranks.iter().map(|rank| run_s(profile, rank)).fold(0.0, f64::max),
    }
}

/// An efficiency of a run, by its place in the catalogue.
fn efficiency(profile: &Profile, place: usize) -> Option<f64> {
    (EFFICIENCY[place].of)(&profile.efficiency.as_ref()?.whole)
}

/// The entry of a run for an efficiency.
macro_rules! efficiency {
    ($place:literal) => {
        Quantity {
            name: EFFICIENCY[$place].name,
            unit: EFFICIENCY[$place].unit,
            basis: EFFICIENCY[$place].basis,
            sentence: EFFICIENCY[$place].sentence,
            of: |profile| efficiency(profile, $place),
            ..OF_RUN
        }
    };
}

const OF_RUN: Quantity<Profile> = Quantity { group: "run", fold: Fold::None, diff: true, ..Quantity::NONE };

/// The numbers of a run as a whole.
pub const RUN: &[Quantity<Profile>] = &[
    Quantity {
        name: "run_time",
        unit: Unit::Seconds,
        sentence: "time between MPI_Init and MPI_Finalize, of the rank that took longest",
        of: |profile| Some(longest_run_s(profile)),
        ..OF_RUN
    },
    Quantity {
        name: "mpi_time",
        unit: Unit::Seconds,
        sentence: "time in MPI, of all ranks together",
        of: |profile| Some(whole(profile).total_s),
        ..OF_RUN
    },
    Quantity {
        name: "lost_time",
        unit: Unit::Seconds,
        basis: Basis::Estimated,
        sentence: "the part of that which is lost waiting",
        of: |profile| Some(whole(profile).lost_s),
        ..OF_RUN
    },
    Quantity {
        name: "calls",
        sentence: "calls of MPI",
        of: |profile| Some(whole(profile).calls as f64),
        ..OF_RUN
    },
    Quantity {
        name: "bytes_sent",
        unit: Unit::Bytes,
        sentence: "bytes that these have sent",
        of: |profile| Some(whole(profile).bytes_sent as f64),
        ..OF_RUN
    },
    Quantity {
        name: "bytes_received",
        unit: Unit::Bytes,
        sentence: "bytes of the messages that these have received",
        of: |profile| Some(whole(profile).bytes_received as f64),
        ..OF_RUN
    },
    Quantity {
        name: "messages",
        basis: Basis::Modelled,
        sentence: "messages that were in either queue",
        of: |profile| sum(profile, &[(queues::POSTED, "receives"), (queues::UNEXPECTED, "messages")]),
        ..OF_RUN
    },
    Quantity {
        name: "unexpected_messages",
        basis: Basis::Modelled,
        sentence: "messages that came before their receive was posted",
        of: |profile| sum(profile, &[(queues::UNEXPECTED, "messages")]),
        ..OF_RUN
    },
    Quantity {
        name: "search_time",
        unit: Unit::Seconds,
        basis: Basis::Modelled,
        sentence: "time in searches of both queues",
        of: |profile| {
            let searches = [queues::POSTED_SEARCHES, queues::UNEXPECTED_SEARCHES];
            sum(profile, &searches.map(|of| (of, "total time")))
        },
        ..OF_RUN
    },
    efficiency!(0),
    efficiency!(1),
    efficiency!(2),
    efficiency!(3),
    efficiency!(4),
];

const OF_EFFICIENCY: Quantity<Efficiency> =
    Quantity { group: "efficiency", unit: Unit::Share, fold: Fold::None, ..Quantity::NONE };

/// How deep each of [`EFFICIENCY`] is in the tree that they are.
pub const DEPTHS: [u8; 5] = [0, 1, 1, 2, 2];

/// The efficiencies in the order of all outputs: each is the product of those that follow it.
pub const EFFICIENCY: &[Quantity<Efficiency>] = &[
    Quantity {
        name: "parallel_efficiency",
        key: "parallel_efficiency",
        head: Some("parallel"),
        sentence: "share of the ranks' time that is outside of MPI: load balance times communication efficiency",
        of: |of| Some(of.parallel_efficiency),
        ..OF_EFFICIENCY
    },
    Quantity {
        name: "load_balance",
        key: "load_balance",
        head: Some("balance"),
        sentence: "mean time of the ranks outside of MPI as a share of the longest; low where some compute longer than others",
        of: |of| Some(of.load_balance),
        ..OF_EFFICIENCY
    },
    Quantity {
        name: "communication_efficiency",
        key: "communication_efficiency",
        head: Some("communic."),
        sentence: "longest time of a rank outside of MPI as a share of the run; low where even that rank waits, or moves data: serialisation times transfer",
        of: |of| Some(of.communication_efficiency),
        ..OF_EFFICIENCY
    },
    Quantity {
        name: "serialisation",
        key: "serialisation",
        head: Some("serial."),
        basis: Basis::Estimated,
        sentence: "longest time of a rank outside of MPI as a share of the run on an ideal network; low where ranks wait for each other in turn",
        of: |of| of.serialisation,
        ..OF_EFFICIENCY
    },
    Quantity {
        name: "transfer",
        key: "transfer",
        head: Some("transfer"),
        basis: Basis::Estimated,
        sentence: "run on an ideal network as a share of the run; low where moving data, and MPI itself, take long",
        of: |of| of.transfer,
        ..OF_EFFICIENCY
    },
];
