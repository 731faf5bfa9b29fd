//! How well the ranks are used, in a sentence, and in a line for each phase.

use super::layout::{percent, table};
use crate::number::duration;
use crate::profile::efficiency::Efficiency;
use crate::profile::phases::name_of;
use crate::profile::quantities::run::EFFICIENCY;
use crate::profile::quantities::{Quantity, cells, heads, numbers};
use crate::profile::schema::Profile;
use crate::profile::verdict::Basis;

/// From this share of the time on it is worth a word that one rank computes longer than the mean.
const MUCH: f64 = 0.02;
/// The most phases that have a line.
const MOST_PHASES: usize = 16;

/// What the efficiencies of a run are, and which rank lowers the load balance most, in a sentence; none where they are not known.
#[must_use]
pub fn sentence(profile: &Profile) -> Option<String> {
    profile.efficiency.as_ref().map(|all| in_words(&all.whole))
}

/// Efficiencies in a sentence.
#[must_use]
pub fn in_words(of: &Efficiency) -> String {
    let mut text = format!(
        "parallel efficiency {} = load balance {} x communication efficiency {}",
        percent(of.parallel_efficiency),
        percent(of.load_balance),
        percent(of.communication_efficiency)
    );
    if let (Some(serialisation), Some(transfer)) = (of.serialisation, of.transfer) {
        let basis = if of.ideal_basis == Some(Basis::Estimated) { "estimated: " } else { "" };
        text +=
            &format!(" ({basis}serialisation {} x transfer {})", percent(serialisation), percent(transfer));
    }
    if of.load_balance < 1.0 - MUCH {
        let site = of.busiest_site.as_ref().map(|site| format!(" before {site}")).unwrap_or_default();
        text += &format!(
            "; rank {} computes longest{site}: {}, the mean is {}",
            of.busiest_rank,
            duration(of.max_computing_s),
            duration(of.mean_computing_s)
        );
    }
    text
}

/// Each efficiency with what it means, in a sentence each.
#[must_use]
pub fn meanings(of: &Efficiency) -> Vec<String> {
    let words = |(quantity, value): (&Quantity<Efficiency>, f64)| {
        format!("{} {}: {}", quantity.name.replace('_', " "), percent(value), quantity.sentence)
    };
    numbers(EFFICIENCY, of).map(words).collect()
}

/// A line for each phase, in the order in which they were named; nothing where there are none.
#[must_use]
pub fn by_phase(profile: &Profile) -> String {
    let Some(all) = profile.efficiency.as_ref().filter(|all| !all.phases.is_empty()) else {
        return String::new();
    };
    let mut shown_phases: Vec<_> = all.phases.iter().collect();
    if shown_phases.len() > MOST_PHASES {
        shown_phases.sort_by(|a, b| b.of.run_s.total_cmp(&a.of.run_s));
        shown_phases.truncate(MOST_PHASES);
        shown_phases.sort_by_key(|of| of.phase);
    }
    // A column that nothing is known for has no place.
    let has = |head: &str| {
        let column = EFFICIENCY.iter().find(|quantity| quantity.head == Some(head));
        column.is_some_and(|column| shown_phases.iter().any(|phase| (column.of)(&phase.of).is_some()))
    };
    let kept: Vec<bool> = heads(EFFICIENCY).map(has).collect();
    let row = |first: String, cells: Vec<String>, last: [String; 2]| -> Vec<String> {
        let kept = cells.into_iter().zip(&kept).filter(|(_, kept)| **kept).map(|(cell, _)| cell);
        std::iter::once(first).chain(kept).chain(last).collect()
    };
    let header = ["busiest", "rank"].map(str::to_owned);
    let mut rows = vec![row("phase".into(), heads(EFFICIENCY).map(str::to_owned).collect(), header)];
    for phase in shown_phases {
        let name = name_of(&profile.phases, phase.phase);
        let last = [duration(phase.of.max_computing_s), phase.of.busiest_rank.to_string()];
        rows.push(row(name.to_owned(), cells(EFFICIENCY, &[&phase.of]).collect(), last));
    }
    format!("\n efficiencies of phases, of the ranks that were in them\n{}", table(&rows, &[0]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::efficiency::OfPhase;
    use crate::profile::sample;

    #[test]
    fn who_lowers_the_load_balance_is_named_with_a_line() {
        let text = sentence(&sample::late_rank(4, 1)).unwrap();
        assert_eq!(
            text,
            "parallel efficiency 54.0 % = load balance 54.5 % x communication efficiency 99.0 %; rank 1 computes \
             longest before halo.c:40 (exchange): 990 ms, the mean is 540 ms"
        );
        let text = sentence(&sample::healthy(4)).unwrap();
        assert_eq!(
            text,
            "parallel efficiency 99.0 % = load balance 100.0 % x communication efficiency 99.0 %"
        );
        assert_eq!(sentence(&Profile::default()), None);
    }

    #[test]
    fn what_a_trace_adds_is_in_parentheses() {
        let of = Efficiency::of([(0, 0.5), (1, 0.5)], 1.0).unwrap().with_ideal(0.625, Basis::Exact);
        assert!(
            in_words(&of).ends_with("50.0 % (serialisation 80.0 % x transfer 62.5 %)"),
            "{}",
            in_words(&of)
        );
        let meanings = meanings(&of);
        assert!(meanings.len() == EFFICIENCY.len() && meanings[4].starts_with("transfer 62.5 %: "));
    }

    #[test]
    fn each_phase_has_a_line_without_what_is_not_known() {
        let mut profile = sample::late_rank(4, 1);
        assert_eq!(by_phase(&profile), "");
        profile.phases = vec![String::new(), "solve".into()];
        let of = Efficiency::of([(0, 0.25), (1, 0.5)], 0.625).unwrap();
        profile.efficiency.as_mut().unwrap().phases = vec![OfPhase { phase: 1, of }];
        let text = by_phase(&profile);
        let line = text.lines().find(|line| line.contains("solve")).unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words.join(" "), "solve 60.0 % 75.0 % 80.0 % 500 ms 1", "{text}");
        assert!(!text.contains("transfer"), "{text}");
    }
}
