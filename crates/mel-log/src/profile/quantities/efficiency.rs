//! How well ranks are used: the efficiencies of a run, or of one of its phases.

use super::{Basis, Fold, Quantity, Unit};
use crate::profile::efficiency::Efficiency;

const OF_RUN: Quantity<Efficiency> =
    Quantity { group: "efficiency", unit: Unit::Share, fold: Fold::None, ..Quantity::NONE };

/// The efficiencies in the order of all outputs: each is the product of those that follow it.
pub const EFFICIENCY: &[Quantity<Efficiency>] = &[
    Quantity {
        name: "parallel_efficiency",
        key: "parallel_efficiency",
        head: Some("parallel"),
        sentence: "share of the ranks' time that is outside of MPI: load balance times communication efficiency",
        of: |of| Some(of.parallel_efficiency),
        ..OF_RUN
    },
    Quantity {
        name: "load_balance",
        key: "load_balance",
        head: Some("balance"),
        sentence: "mean time of the ranks outside of MPI as a share of the longest; low where some compute longer than others",
        of: |of| Some(of.load_balance),
        ..OF_RUN
    },
    Quantity {
        name: "communication_efficiency",
        key: "communication_efficiency",
        head: Some("communic."),
        sentence: "longest time of a rank outside of MPI as a share of the run; low where even that rank waits, or moves data: serialisation times transfer",
        of: |of| Some(of.communication_efficiency),
        ..OF_RUN
    },
    Quantity {
        name: "serialisation",
        key: "serialisation",
        head: Some("serial."),
        basis: Basis::Estimated,
        sentence: "longest time of a rank outside of MPI as a share of the run on an ideal network; low where ranks wait for each other in turn",
        of: |of| of.serialisation,
        ..OF_RUN
    },
    Quantity {
        name: "transfer",
        key: "transfer",
        head: Some("transfer"),
        basis: Basis::Estimated,
        sentence: "run on an ideal network as a share of the run; low where moving data, and MPI itself, take long",
        of: |of| of.transfer,
        ..OF_RUN
    },
];
