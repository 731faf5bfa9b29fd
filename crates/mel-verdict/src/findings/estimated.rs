//! From the sums of each rank to whom to name.

use std::collections::BTreeMap;

use mel_log::profile::{Basis, Finding};

use super::{LEAST_SHARE, LEAST_SHARE_OF_ALL, Lost, Rule, least_part};
use crate::losses::{Loss, Losses};
use crate::run::Run;

/// What belongs together: why, and the line and communicator where it is lost.
type Place = (Rule, Option<u32>, Option<u32>);

/// The findings of a run.
pub fn of(run: &Run, losses: &Losses) -> Vec<Finding> {
    let all_s = run.all_s();
    if all_s <= 0.0 {
        return Vec::new();
    }
    let mut places: BTreeMap<Place, Vec<Loss>> = BTreeMap::new();
    for loss in &losses.all {
        let context = run.rank(loss.rank).and_then(|rank| rank.context(loss.context));
        let (site, communicator) =
            context.map_or((None, None), |context| (context.site, context.communicator));
        places.entry((loss.rule, site, communicator)).or_default().push(*loss);
    }
    let mut found = Vec::new();
    for (place, of_place) in &places {
        let total: f64 = of_place.iter().map(|loss| loss.seconds).sum();
        let mut causes: BTreeMap<u32, Vec<Loss>> = BTreeMap::new();
        for loss in of_place {
            causes.entry(loss.cause).or_default().push(*loss);
        }
        let mut named = 0.0;
        for (&cause, of_cause) in &causes {
            let lost: f64 = of_cause.iter().map(|loss| loss.seconds).sum();
            let is_cause = !place.0.is_wait()
                || lost / total >= least_part(run.ranks.len()) && !waits_more(run, losses, cause);
            if is_cause && lost / all_s >= LEAST_SHARE {
                named += lost;
                found.extend(of_cause.iter().map(|loss| (place.0, one(run, *place, loss, Some(cause)))));
            }
        }
        let rest = total - named;
        if named == 0.0 && rest / all_s >= LEAST_SHARE_OF_ALL {
            found.extend(of_place.iter().map(|loss| (place.0, one(run, *place, loss, None))));
        }
    }
    super::of(found, all_s, Basis::Estimated)
}

/// Whether a rank loses more than it makes others lose, and more than half of the ranks do: then it is a victim.
fn waits_more(run: &Run, losses: &Losses, rank: u32) -> bool {
    let mut lost: Vec<f64> = run.ranks.iter().map(|rank| losses.lost(rank.rank)).collect();
    lost.sort_by(f64::total_cmp);
    let median = lost.get(lost.len() / 2).copied().unwrap_or(0.0);
    losses.lost(rank) > median && losses.lost(rank) > losses.caused(rank)
}

fn one(run: &Run, (_, site, communicator): Place, loss: &Loss, cause: Option<u32>) -> Lost {
    let context = run.rank(loss.rank).and_then(|rank| rank.context(loss.context));
    let communicator = communicator.and_then(|place| run.communicators.get(place as usize));
    Lost {
        function: context.map(|context| context.function.to_string()),
        site: run.site(site),
        communicator: communicator.map(|communicator| communicator.name.clone()),
        cause,
        cause_site: run.site(loss.cause_site),
        seconds: loss.seconds,
        by_rank: [(loss.rank, loss.seconds)].into(),
        count: loss.count,
        ..Lost::default()
    }
}
