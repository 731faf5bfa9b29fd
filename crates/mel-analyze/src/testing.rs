//! Calls and messages for tests.

use mpi_functions::Mode;
use mpi_functions::signature::Signature;

use crate::model::{Call, Key, NO_SITE, Side, Way};
use crate::names::{Function, Names};

/// A call of a rank.
pub(crate) fn call(rank: u32, (begin, end): (u64, u64)) -> Call {
    Call { begin, end, rank, site: NO_SITE, function: 0, computed: 0 }
}

/// A side of a message, in a call of a rank.
pub(crate) fn side(rank: u32, times: (u64, u64), peer: u32) -> Side {
    Side {
        key: Key { channel: 0, number: 0 },
        call: call(rank, times),
        way: Way::Blocking,
        mode: Mode::Standard,
        unit: None,
        peer,
        communicator: 0,
        bytes: 2048,
        unexpected: None,
        order: 0,
        alone: true,
        buffer: 0,
        signature: Signature::default(),
    }
}

/// Names of these functions, by their places.
pub(crate) fn named(functions: &[&str]) -> Names {
    let mut names = Names::default();
    names.functions.extend(functions.iter().map(|name| Function::of(name)));
    names
}
