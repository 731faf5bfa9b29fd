//! What a rank that came late to the end did before, from the sums of its calls.
//!
//! Of single calls only the long ones are known: a rank that was in MPI in thousands of short ones seems to have been outside. The sums
//! of the run say by how much longer than its victim it was outside of MPI, and by how much longer in MPI without a known wait; or, where
//! it did hardly anything else than what it was late for, what that was. They are told of `MPI_Finalize` alone: elsewhere it is not known
//! what came before.

use std::collections::{BTreeMap, HashMap};

use crate::findings::Rule;
use crate::losses::{Loss, Losses};
use crate::places::{self, Place};
use crate::run::{Rank, Run};

/// Parts of a wait below this share of it are not worth a word.
const LEAST: f64 = 0.05;

/// What a rank did that was no known wait, in seconds.
#[derive(Debug)]
struct Busy<'a> {
    outside: f64,
    inside: f64,
    /// The parts of `inside`.
    calls: BTreeMap<Place<'a>, f64>,
}

impl<'a> Busy<'a> {
    /// `None` of a rank with several threads: it is not known what they did at the same time. `waits` is what it lost at its places.
    fn of(rank: &'a Rank, waits: &BTreeMap<Place<'_>, f64>) -> Option<Busy<'a>> {
        let mut calls = places::times(rank);
        if places::threads(&calls) > 1 {
            return None;
        }
        let outside = (rank.run_s() - calls.values().sum::<f64>()).max(0.0);
        for (place, time) in &mut calls {
            *time = (*time - waits.get(place).copied().unwrap_or(0.0)).max(0.0);
        }
        Some(Busy { outside, inside: calls.values().sum(), calls })
    }

    /// At which place it was in MPI for longer than another one, by most.
    fn most_beyond(&self, other: &Busy<'_>) -> Option<Place<'a>> {
        let of_other = |&(_, function, site, phase): &Place<'_>| -> f64 {
            let same = other
                .calls
                .iter()
                .filter(|(place, _)| (place.1, place.2, place.3) == (function, site, phase));
            same.map(|(_, time)| time).sum()
        };
        let beyond = self.calls.iter().map(|(place, time)| (*place, time - of_other(place)));
        beyond.max_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, time)| *time > 0.0).map(|(place, _)| place)
    }

    /// The share of a wait of this length for this rank that it was in MPI, if another one has waited for it: of what it did for longer than
    /// that one, or of all it did if it did not do much else. `None` where neither is about as long as the wait: then it was late at other
    /// times, too, and it is not known for what it was late here.
    fn share_inside(&self, victim: &Busy<'_>, seconds: f64) -> Option<f64> {
        let longer = (self.outside - victim.outside, self.inside - victim.inside);
        let is_longer = (0.5 * seconds..=1.5 * seconds).contains(&(longer.0 + longer.1))
            && longer.0.min(longer.1) >= -0.5 * seconds;
        let is_most = self.outside + self.inside <= 2.0 * seconds;
        let (outside, inside) = if is_longer { longer } else { (self.outside, self.inside) };
        ((is_longer || is_most) && inside > 0.0).then(|| inside / (inside + outside.max(0.0)))
    }
}

/// What pairs of a cause and a victim have: seconds in all, and those of which it is known already that the cause was in MPI.
type Pairs = BTreeMap<(u32, u32), (f64, f64)>;

/// Parts the waits in `MPI_Finalize` by what the rank did before that came last.
pub(crate) fn tell(run: &Run, losses: &mut Losses) {
    let is_at_end = |loss: &Loss| loss.rule == Rule::WaitAtFinalize;
    if !losses.all.iter().any(is_at_end) {
        return;
    }
    let mut pairs = Pairs::new();
    let mut waits: HashMap<u32, BTreeMap<Place<'_>, f64>> = HashMap::new();
    for loss in losses.all.iter().filter(|loss| loss.rule.is_wait()) {
        if let Some(context) = run.rank(loss.rank).and_then(|rank| rank.context(loss.context)) {
            *waits.entry(loss.rank).or_default().entry(places::of(context)).or_default() += loss.seconds;
        }
        if let Some(cause) = loss.cause.filter(|_| is_at_end(loss)) {
            let (all, inside) = pairs.entry((cause, loss.rank)).or_default();
            *all += loss.seconds;
            *inside += if loss.inside.is_some() { loss.seconds } else { 0.0 };
        }
    }
    let none = BTreeMap::new();
    let busy: HashMap<u32, Busy<'_>> = run
        .ranks
        .iter()
        .filter_map(|rank| Some((rank.rank, Busy::of(rank, waits.get(&rank.rank).unwrap_or(&none))?)))
        .collect();
    // By the pair: the context of the cause in which it was, and for which share of what it is not known yet.
    let mut more: BTreeMap<(u32, u32), (u32, f64)> = BTreeMap::new();
    for ((cause, victim), (all, inside)) in pairs {
        let (Some(of_cause), Some(of_victim)) = (busy.get(&cause), busy.get(&victim)) else { continue };
        let Some(share) = of_cause.share_inside(of_victim, all) else { continue };
        let missing = share * all - inside;
        let place = of_cause.most_beyond(of_victim).filter(|_| missing > LEAST * all);
        let contexts = run.rank(cause).map_or(&[][..], |rank| &rank.contexts);
        let context =
            place.and_then(|place| contexts.iter().position(|context| places::of(context) == place));
        if let Some(context) = context {
            more.insert((cause, victim), (context as u32, (missing / (all - inside)).min(1.0)));
        }
    }
    let mut parted = Vec::new();
    for loss in losses.all.iter_mut().filter(|loss| is_at_end(loss) && loss.inside.is_none()) {
        let Some(&(context, share)) = loss.cause.and_then(|cause| more.get(&(cause, loss.rank))) else {
            continue;
        };
        parted.push(Loss {
            inside: Some(context),
            seconds: share * loss.seconds,
            count: share * loss.count,
            ..*loss
        });
        loss.seconds -= share * loss.seconds;
        loss.count -= share * loss.count;
    }
    losses.all.extend(parted);
}
