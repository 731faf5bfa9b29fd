//! Waiting in the synchronisation of windows.

use super::Thresholds;
use super::messages::Outside;
use crate::functions::Kind;
use crate::loss::Loss;
use crate::model::{Call, OnWindow};

/// What is under way on the windows of a run.
#[derive(Debug)]
pub struct Windows {
    thresholds: Thresholds,
}

impl Windows {
    /// Nothing is.
    pub fn new(thresholds: Thresholds) -> Windows {
        Windows { thresholds }
    }

    /// A rank has done something to a window of these processes, in a call.
    pub fn step(
        &mut self,
        _: (u32, &[u32]),
        _: (Call, Kind),
        _: &OnWindow,
        _: Outside<'_>,
        _: &mut impl FnMut(Loss),
    ) {
        let _ = self.thresholds;
    }
}
