//! The phases that the program has named, a line each.

use super::layout::{percent, table};
use crate::number::duration;
use crate::profile::phases::{shown, sums_of};
use crate::profile::schema::Profile;
use crate::profile::sums::share;

/// The most phases that have a line.
const MOST_PHASES: usize = 16;

/// The table, in the order in which the phases were named; nothing where there are none. Of very many ranks there are sums over all phases
/// only.
pub fn phases(profile: &Profile) -> String {
    let mut all = sums_of(profile);
    if all.is_empty() {
        return String::new();
    }
    let number = all.len();
    if number > MOST_PHASES {
        let mut times: Vec<f64> = all.iter().map(|phase| phase.run_s).collect();
        times.sort_by(|a, b| b.total_cmp(a));
        all.retain(|phase| phase.run_s >= times[MOST_PHASES - 1]);
        all.truncate(MOST_PHASES);
    }
    let ranks = profile.ranks.len().max(1) as f64;
    let header = [
        "phase",
        "time",
        "longest",
        "rank",
        "calls",
        "in MPI",
        "of it",
        "waiting",
        "of it",
        "posted",
        "unexpected",
    ];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    for phase in &all {
        let length = |length: Option<u64>| length.map_or_else(|| "-".into(), |length| length.to_string());
        rows.push(vec![
            shown(phase.name).to_owned(),
            duration(phase.run_s / ranks),
            duration(phase.longest.0),
            phase.longest.1.to_string(),
            phase.sum.calls.to_string(),
            duration(phase.sum.total_s / ranks),
            percent(share(phase.sum.total_s, phase.run_s)),
            duration(phase.sum.lost_s / ranks),
            percent(share(phase.sum.lost_s, phase.run_s)),
            length(phase.posted),
            length(phase.unexpected),
        ]);
    }
    let mut text = format!(
        "\n phases: times are means over ranks, waiting is estimated, queues at their longest\n{}",
        table(&rows, &[0])
    );
    if number > all.len() {
        text += &format!("   and {} phases that took less\n", number - all.len());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{PhaseProfile, Queues, sample};

    #[test]
    fn each_phase_has_a_line_and_none_is_too_long() {
        let mut profile = sample::late_rank(4, 1);
        assert_eq!(phases(&profile), "");
        profile.phases =
            ["", "solve", "a phase with a name that is much too long for a table with so many columns"]
                .map(str::to_owned)
                .to_vec();
        for rank in &mut profile.ranks {
            let number = rank.calls.len();
            rank.calls.iter_mut().take(number - 1).for_each(|call| call.phase = 1);
            let mut queues = Queues::default();
            queues.unexpected.max_length = 7 + u64::from(rank.rank);
            rank.phases = vec![
                PhaseProfile { run_s: 0.25, ..PhaseProfile::default() },
                PhaseProfile { phase: 1, run_s: 0.75, queues: Some(queues), ..PhaseProfile::default() },
            ];
        }
        let text = phases(&profile);
        let line = text.lines().find(|line| line.contains("solve")).unwrap();
        assert!(line.contains("750 ms") && line.ends_with("  10"), "{text}");
        assert!(text.contains(shown("")), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= super::super::COLUMNS), "{text}");
        profile.phases.extend((0..40).map(|number| format!("phase {number}")));
        assert!(phases(&profile).contains("and 27 phases that took less"), "{}", phases(&profile));
    }
}
