//! Who did what on the critical path ([`mel_verdict::replay`]).

use mel_verdict::replay::{CriticalPath, Segment};
use rustc_hash::FxHashMap;

use crate::model::{Call, Site};

/// The time outside of MPI on a path, by rank and by the call that ended it.
#[derive(Debug, Default)]
pub struct OnPath {
    /// The parts of the path by rank, ascending.
    segments: FxHashMap<u32, Vec<Segment>>,
    shares: FxHashMap<(u32, Site, u16), u64>,
}

impl OnPath {
    /// Nothing is known yet of this path.
    pub fn new(path: &CriticalPath) -> OnPath {
        let mut segments: FxHashMap<u32, Vec<Segment>> = FxHashMap::default();
        for segment in &path.segments {
            segments.entry(segment.rank).or_default().push(*segment);
        }
        segments.values_mut().for_each(|of| of.sort_by_key(|segment| segment.begin));
        OnPath { segments, shares: FxHashMap::default() }
    }

    /// A rank was outside of MPI since a time, until it made this call.
    pub fn outside(&mut self, call: &Call, since: u64) {
        let Some(segments) = self.segments.get(&call.rank) else { return };
        let first = segments.partition_point(|segment| segment.end <= since);
        let within = segments[first..].iter().take_while(|segment| segment.begin < call.begin);
        let nanos: u64 = within.map(|of| of.end.min(call.begin).saturating_sub(of.begin.max(since))).sum();
        if nanos > 0 {
            *self.shares.entry((call.rank, call.site, call.function)).or_default() += nanos;
        }
    }

    /// By rank, call site and function.
    pub fn shares(&self) -> impl Iterator<Item = ((u32, Site, u16), u64)> {
        self.shares.iter().map(|(place, nanos)| (*place, *nanos))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::call;

    #[test]
    fn what_lies_on_the_path_counts_by_the_call_that_follows() {
        let segment = |rank, begin, end| Segment { rank, begin, end };
        let segments = vec![segment(0, 0, 100), segment(1, 110, 200), segment(0, 210, 300)];
        let mut path = OnPath::new(&CriticalPath { useful: 270, segments });
        let at = |rank, time, site| Call { site, ..call(rank, (time, time + 1)) };
        path.outside(&at(0, 60, 7), 10);
        path.outside(&at(0, 250, 7), 80);
        path.outside(&at(1, 150, 8), 0);
        path.outside(&at(2, 150, 8), 0);
        path.outside(&at(1, 400, 9), 300);
        let mut shares: Vec<_> = path.shares().collect();
        shares.sort_unstable();
        assert_eq!(shares, [((0, 7, 0), 110), ((1, 8, 0), 40)]);
    }
}
