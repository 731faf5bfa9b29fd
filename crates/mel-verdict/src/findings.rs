//! Losses as findings, worst first: which line, which rank is the cause, what to do.

use std::collections::BTreeMap;

use mel_log::number::duration;
use mel_log::profile::{Basis, Finding};

use super::losses::{Loss, Losses, Rule};
use super::run::Run;
use super::words::{percent, ranks};

/// A finding is worth a word from this share of the time of all ranks on.
pub const LEAST_SHARE: f64 = 0.01;
/// One rank is called the cause where it has caused this share of what was lost at a line, and twice its part were all alike.
pub(crate) const LEAST_PART: f64 = 0.3;
/// Where no rank is: the share of the time of all ranks from which on that is worth a word.
pub(crate) const LEAST_SHARE_OF_ALL: f64 = 0.1;

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
    let mut findings = Vec::new();
    for (place, of_place) in &places {
        let total: f64 = of_place.iter().map(|loss| loss.seconds).sum();
        let mut causes: BTreeMap<u32, Vec<Loss>> = BTreeMap::new();
        for loss in of_place {
            causes.entry(loss.cause).or_default().push(*loss);
        }
        let alike = 2.0 / run.ranks.len().max(1) as f64;
        let mut named = 0.0;
        for (&cause, of_cause) in &causes {
            let lost: f64 = of_cause.iter().map(|loss| loss.seconds).sum();
            let is_cause = match place.0 {
                Rule::UnexpectedCopies | Rule::LongSearches | Rule::WildcardCost => true,
                _ => lost / total >= LEAST_PART.max(alike.min(0.6)) && !waits_more(run, losses, cause),
            };
            if is_cause && lost / all_s >= LEAST_SHARE {
                named += lost;
                findings.push(finding(run, *place, of_cause, Some(cause), lost / all_s));
            }
        }
        let rest = total - named;
        if named == 0.0 && rest / all_s >= LEAST_SHARE_OF_ALL {
            findings.push(finding(run, *place, of_place, None, rest / all_s));
        }
    }
    findings.sort_by(|a, b| b.lost_s.total_cmp(&a.lost_s));
    findings
}

/// Whether a rank loses more than it makes others lose, and more than half of the ranks do: then it is a victim.
fn waits_more(run: &Run, losses: &Losses, rank: u32) -> bool {
    let mut lost: Vec<f64> = run.ranks.iter().map(|rank| losses.lost(rank.rank)).collect();
    lost.sort_by(f64::total_cmp);
    let median = lost.get(lost.len() / 2).copied().unwrap_or(0.0);
    losses.lost(rank) > median && losses.lost(rank) > losses.caused(rank)
}

fn finding(
    run: &Run,
    (rule, site, communicator): Place,
    losses: &[Loss],
    cause: Option<u32>,
    share: f64,
) -> Finding {
    let mut by_rank: BTreeMap<u32, f64> = BTreeMap::new();
    let mut by_cause_site: BTreeMap<Option<u32>, f64> = BTreeMap::new();
    for loss in losses {
        *by_rank.entry(loss.rank).or_default() += loss.seconds;
        *by_cause_site.entry(loss.cause_site).or_default() += loss.seconds;
    }
    let mut victims: Vec<(u32, f64)> = by_rank.into_iter().collect();
    victims.sort_by(|a, b| b.1.total_cmp(&a.1));
    let lost_s: f64 = victims.iter().map(|(_, lost)| lost).sum();
    let worst = by_cause_site.into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
    let cause_site = run.site(worst.and_then(|(site, _)| site)).filter(|_| cause.is_some());
    let function = losses
        .iter()
        .max_by(|a, b| a.seconds.total_cmp(&b.seconds))
        .and_then(|loss| run.rank(loss.rank)?.context(loss.context))
        .map_or_else(|| "MPI".to_owned(), |context| context.function.to_string());
    let site = run.site(site);
    let name = communicator.and_then(|place| run.communicators.get(place as usize)).map(|c| c.name.clone());
    let at = site.as_ref().map(|site| format!(" at {site}")).unwrap_or_default();
    // Who has lost much less than the others has by chance.
    let least = (0.5 / victims.len() as f64).min(0.02) * lost_s;
    let mut sorted: Vec<u32> =
        victims.iter().filter(|(_, lost)| *lost >= least).map(|(rank, _)| *rank).collect();
    sorted.sort_unstable();
    let lost = format!("{} lost {} ({} of the run)", ranks(&sorted), duration(lost_s), percent(share));
    let text = sentence(rule, cause, &lost, &format!("{function}{at}"), cause_site.as_deref());
    Finding {
        rule: rule.name().into(),
        lost_s,
        share,
        cause_rank: cause,
        victims: victims.iter().map(|(rank, _)| *rank).collect(),
        communicator: name,
        site,
        count: losses.iter().map(|loss| loss.count).sum::<f64>().round() as u64,
        basis: Basis::Estimated,
        text,
        advice: advice(rule, cause, cause_site.as_deref()),
        lost_by_rank_s: victims.iter().map(|(_, lost)| *lost).collect(),
        worst: Vec::new(),
        cause_site,
    }
}

pub(crate) fn sentence(
    rule: Rule,
    cause: Option<u32>,
    lost: &str,
    at: &str,
    cause_site: Option<&str>,
) -> String {
    let from = cause_site.map(|site| format!(" (its call: {site})")).unwrap_or_default();
    match (rule, cause) {
        (Rule::UnexpectedCopies, _) => {
            format!("{lost} with copies of messages that came before their receives, posted in {at}")
        }
        (Rule::LongSearches, _) => {
            format!("{lost} searching the unexpected queue for receives posted in {at}")
        }
        (Rule::WildcardCost, _) => {
            format!("{lost} searching the queues of all senders for receives with a wildcard, posted in {at}")
        }
        (_, None) => format!("{lost} in {at}, waiting for each other: no single rank is the cause"),
        (Rule::LateSender, Some(cause)) => {
            format!("{lost} in {at}, waiting for messages because rank {cause} is late{from}")
        }
        (Rule::LateReceiver, Some(cause)) => {
            format!("{lost} in {at}, sending to receivers that were late because of rank {cause}{from}")
        }
        (_, Some(cause)) => format!("{lost} in {at}, waiting for rank {cause}, which comes last{from}"),
    }
}

pub(crate) fn advice(rule: Rule, cause: Option<u32>, cause_site: Option<&str>) -> String {
    let Some(cause) = cause else {
        return "look whether work is spread unevenly from step to step, or whether the processes can meet less often"
            .into();
    };
    let before = cause_site.map_or_else(|| "its calls".to_owned(), str::to_owned);
    match rule {
        Rule::UnexpectedCopies => "post the receives before the messages are sent".into(),
        Rule::LongSearches => {
            "post receives earlier, or in the order in which the messages are sent; fewer messages under way make searches short".into()
        }
        Rule::WildcardCost => "name the source where it is known, or let fewer messages wait".into(),
        Rule::LateReceiver => format!(
            "let rank {cause} post its receives earlier (before {before}), or send with MPI_Isend and wait later"
        ),
        _ => format!(
            "look at what rank {cause} does before {before}: it computes longer there than the others"
        ),
    }
}
