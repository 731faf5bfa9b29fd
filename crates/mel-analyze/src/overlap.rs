//! How much of nonblocking messages was hidden behind work, by the call sites that start them and that wait for them.
//!
//! Of an operation that is started, and waited for later, two times matter: the work of its rank between both calls (the time outside of
//! MPI there), and how long the wait still took. Work that is long enough leaves nothing to wait for. A call that waits for several
//! operations has waited once for each call site that has started some; their work is the mean.

use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::model::{Site, Way};
use crate::names::call_at;
use crate::units::Unit;

/// How much of the messages of two call sites was hidden.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Overlap {
    /// The call that starts the operations, as `MPI_Irecv at app.c:7 (main)`.
    pub started: String,
    /// The call that waits for them.
    pub completed: String,
    /// How many operations there were, of all ranks.
    pub operations: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The time outside of MPI between both calls, of all ranks, in seconds.
    pub work_s: f64,
    /// The time in the calls that wait, in seconds.
    pub waited_s: f64,
    /// The work as a share of both: 1 where nothing was left to wait for, 0 where nothing was done meanwhile.
    pub overlap: f64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Sum {
    operations: u64,
    bytes: u64,
    work: f64,
    waited: u64,
}

impl Sum {
    fn add(&mut self, other: &Sum) {
        self.operations += other.operations;
        self.bytes += other.bytes;
        self.work += other.work;
        self.waited += other.waited;
    }
}

/// Adds up.
#[derive(Clone, Debug, Default)]
pub struct Overlaps {
    sums: FxHashMap<(Site, Site), Sum>,
    /// Of the call that is looked at: by the call site that starts.
    of_call: Vec<(Site, Sum)>,
}

impl Overlaps {
    /// A call that completes messages.
    pub fn unit(&mut self, unit: &Unit) {
        let started = unit.parts.iter().filter(|part| part.own.way == Way::Nonblocking);
        for own in started.map(|part| &part.own).filter(|own| own.call.end <= unit.call.begin) {
            let place = match self.of_call.iter().position(|(site, _)| *site == own.call.site) {
                Some(place) => place,
                None => {
                    self.of_call.push((own.call.site, Sum::default()));
                    self.of_call.len() - 1
                }
            };
            let sum = &mut self.of_call[place].1;
            sum.operations += 1;
            sum.bytes += own.bytes;
            sum.work += unit.call.computed.saturating_sub(own.call.computed) as f64;
        }
        let waited = unit.call.end - unit.call.begin;
        for (site, of) in self.of_call.drain(..) {
            let of = Sum { work: of.work / of.operations as f64, waited, ..of };
            self.sums.entry((site, unit.call.site)).or_default().add(&of);
        }
    }

    /// By the lines of call sites and their functions; most of the time between start and end first.
    pub(crate) fn by_line(&self, lines: &[(String, Option<String>)]) -> Vec<Overlap> {
        let call = |site: Site| call_at(lines, site, None);
        // Several addresses are one line.
        let mut merged: FxHashMap<(String, String), Sum> = FxHashMap::default();
        for ((started, completed), of) in &self.sums {
            merged.entry((call(*started), call(*completed))).or_default().add(of);
        }
        let all = merged.into_iter().map(|((started, completed), sum)| {
            let (work_s, waited_s) = (sum.work * 1e-9, sum.waited as f64 * 1e-9);
            let overlap = if work_s > 0.0 { work_s / (work_s + waited_s) } else { 0.0 };
            let Sum { operations, bytes, .. } = sum;
            Overlap { started, completed, operations, bytes, work_s, waited_s, overlap }
        });
        let mut all: Vec<Overlap> = all.collect();
        let time = |of: &Overlap| of.work_s + of.waited_s;
        all.sort_by(|a, b| time(b).total_cmp(&time(a)).then_with(|| a.started.cmp(&b.started)));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Call, Side};
    use crate::testing::{call, side};
    use crate::units::Part;

    /// An operation that was started by a call at this site, which ended at this time.
    fn part(site: Site, end: u64, way: Way) -> Part {
        let own = Side {
            way,
            bytes: 100,
            call: Call { site, computed: end, ..call(0, (end - 1, end)) },
            ..side(0, (0, 0), 1)
        };
        Part { sends: false, own, other: side(1, (0, 1), 0) }
    }

    fn unit(times: (u64, u64), parts: Vec<Part>) -> Unit {
        Unit { call: Call { site: 9, computed: times.0, ..call(0, times) }, entered: times.0, parts }
    }

    #[test]
    fn work_hides_and_waiting_does_not() {
        let mut overlaps = Overlaps::default();
        // Two receives of one line, with 60 and 40 of work; a send of another line, without.
        let parts = vec![
            part(1, 40, Way::Nonblocking),
            part(1, 60, Way::Nonblocking),
            part(2, 100, Way::Nonblocking),
            part(3, 90, Way::Blocking),
        ];
        overlaps.unit(&unit((100, 125), parts));
        overlaps.unit(&unit((300, 300), vec![part(1, 275, Way::Nonblocking)]));
        let line = |name: &str, function: &str| (name.to_owned(), Some(function.to_owned()));
        let mut lines = vec![(String::new(), None); 10];
        (lines[1], lines[2], lines[9]) =
            (line("a.c:1", "MPI_Irecv"), line("a.c:2", "MPI_Isend"), line("a.c:9", "MPI_Waitall"));
        let found = overlaps.by_line(&lines);
        let brief: Vec<_> = found
            .iter()
            .map(|of| {
                (
                    &*of.started,
                    of.operations,
                    of.bytes,
                    (of.work_s * 1e9).round(),
                    (of.waited_s * 1e9).round(),
                )
            })
            .collect();
        assert_eq!(
            brief,
            [("MPI_Irecv at a.c:1", 3, 300, 75.0, 25.0), ("MPI_Isend at a.c:2", 1, 100, 0.0, 25.0)]
        );
        assert_eq!(found[0].completed, "MPI_Waitall at a.c:9");
        assert_eq!((found[0].overlap, found[1].overlap), (0.75, 0.0));
    }
}
