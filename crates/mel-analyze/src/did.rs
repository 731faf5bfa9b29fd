//! What a rank did in a time in which others waited for it: it was outside of MPI, in a call, or waited itself.

use std::collections::VecDeque;

use crate::model::{Call, NO_SITE, Site};
use crate::names::Names;
use mel_verdict::replay::Waited;
use mpi_functions::Kind;

/// Times of each kind that are remembered of a rank.
const REMEMBERED: usize = 4096;

/// What a rank did lately. Shorter times than those that count are left out.
#[derive(Clone, Debug, Default)]
pub struct Did {
    outside: VecDeque<(u64, u64)>,
    calls: VecDeque<Call>,
    waits: Waited,
}

/// What a rank did in a time, beside waiting for others. Times are in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Outside of MPI.
    pub outside: u64,
    /// In MPI, but not to send and receive: with a file, in an operation of all, packing.
    pub in_mpi: u64,
    /// The call site in MPI where most was spent, if it is known, and how much.
    pub most: Option<(Site, u64)>,
}

fn remember<T>(all: &mut VecDeque<T>, one: T) {
    all.push_back(one);
    if all.len() > REMEMBERED {
        all.pop_front();
    }
}

/// How much of an interval is in another one.
fn common(a: (u64, u64), b: (u64, u64)) -> u64 {
    a.1.min(b.1).saturating_sub(a.0.max(b.0))
}

/// Those of these, which are in the order of their ends, that have a part in an interval.
fn within(all: &VecDeque<(u64, u64)>, of: (u64, u64)) -> impl Iterator<Item = (u64, u64)> {
    let first = all.partition_point(|one| one.1 <= of.0);
    all.range(first..).copied().take_while(move |one| one.0 < of.1)
}

impl Did {
    /// Whether anything is known of what it did beside waiting.
    pub fn is_known(&self) -> bool {
        !(self.outside.is_empty() && self.calls.is_empty())
    }

    /// It was outside of MPI. Times are given in the order of their ends, here and below.
    pub fn outside(&mut self, interval: (u64, u64)) {
        remember(&mut self.outside, interval);
    }

    /// It was in a call.
    pub fn in_mpi(&mut self, call: Call) {
        remember(&mut self.calls, call);
    }

    /// It waited for another rank. Gives the part of the interval in which it has not waited already.
    pub fn waited(&mut self, interval: (u64, u64)) -> (u64, u64) {
        self.waits.add(interval)
    }

    /// Its waits.
    pub fn waits(&self) -> &Waited {
        &self.waits
    }

    /// Of the times outside of MPI that ended in an interval the one that has most of it.
    pub fn longest_outside(&self, of: (u64, u64)) -> Option<(u64, u64)> {
        within(&self.outside, of).filter(|one| one.1 <= of.1).max_by_key(|one| common(*one, of))
    }

    /// What it did in an interval.
    pub fn spent(&self, of: (u64, u64), names: &Names) -> Spent {
        let outside = within(&self.outside, of).map(|one| common(one, of)).sum();
        let (mut by_site, mut in_mpi) = (Vec::<(Site, u64)>::new(), 0);
        let first = self.calls.partition_point(|call| call.end <= of.0);
        for call in self.calls.range(first..).take_while(|call| call.begin < of.1) {
            let interval = (call.begin.max(of.0), call.end.min(of.1));
            let waited: u64 = self.waits.within(interval).map(|wait| common(wait, interval)).sum();
            let nanos = (interval.1 - interval.0).saturating_sub(waited);
            in_mpi += if communicates(names, call) { 0 } else { nanos };
            match by_site.iter_mut().find(|known| known.0 == call.site) {
                Some(known) => known.1 += nanos,
                None => by_site.push((call.site, nanos)),
            }
        }
        let most = by_site.into_iter().filter(|of| of.0 != NO_SITE).max_by_key(|of| of.1);
        Spent { outside, in_mpi, most }
    }
}

/// Whether a call does nothing but send and receive.
fn communicates(names: &Names, call: &Call) -> bool {
    let kind = names.about(call.function).map(|about| about.kind);
    matches!(
        kind,
        Some(
            Kind::Send(_) | Kind::Receive | Kind::SendReceive | Kind::Probe | Kind::Completion | Kind::Start
        )
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::Function;
    use crate::testing::call;

    #[test]
    fn of_an_absence_the_longest_counts_and_not_the_last() {
        let mut did = Did::default();
        [(100, 300), (310, 320), (330, 900)].into_iter().for_each(|interval| did.outside(interval));
        assert_eq!(did.longest_outside((200, 400)), Some((100, 300)));
        assert_eq!(did.longest_outside((305, 400)), Some((310, 320)));
        assert_eq!(did.longest_outside((340, 400)), None, "it had not ended");
    }

    #[test]
    fn time_in_a_call_is_no_time_outside() {
        let mut names = Names::default();
        names.functions.extend(["MPI_File_write_at", "MPI_Recv"].map(Function::of));
        let mut did = Did::default();
        did.outside((0, 100));
        did.in_mpi(crate::model::Call { site: 7, ..call(0, (100, 400)) });
        did.waited((420, 460));
        did.in_mpi(crate::model::Call { site: 8, function: 1, ..call(0, (410, 500)) });
        let spent = did.spent((50, 500), &names);
        assert_eq!(spent, Spent { outside: 50, in_mpi: 300, most: Some((7, 300)) });
        assert_eq!(did.spent((405, 500), &names), Spent { outside: 0, in_mpi: 0, most: Some((8, 50)) });
    }
}
