//! How well the ranks are used, in a sentence, and in a line for each phase and region.

use super::layout::{percent, table};
use crate::number::duration;
use crate::profile::attribution::shown_region;
use crate::profile::efficiency::{Efficiencies, Efficiency, OfPhase, OfRegion};
use crate::profile::phases::name_of;
use crate::profile::quantities::run::EFFICIENCY;
use crate::profile::quantities::{Quantity, Unit, cells, heads, numbers};
use crate::profile::schema::Profile;
use crate::profile::verdict::Basis;

/// From this share of the time on it is worth a word that one rank computes longer than the mean.
const MUCH: f64 = 0.02;
/// The most phases, and regions, that have a line.
const MOST_PARTS: usize = 16;

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

/// Parts of a run, of one kind.
#[derive(Clone, Debug)]
pub struct Parts<'a> {
    /// What each of them is.
    pub what: &'static str,
    /// The name of each, how deep it lies in others, and its efficiencies.
    pub of: Vec<(&'a str, usize, &'a Efficiency)>,
}

/// The parts of a run that has phases of these names: phases in the order in which they were named, and regions by path, each with those that it lies
/// in before it. Of many those that last longest.
#[must_use]
pub fn parts<'a>(all: &'a Efficiencies, phases: &'a [String]) -> Vec<Parts<'a>> {
    let of_phase = |of: &'a OfPhase| (name_of(phases, of.phase), 0, &of.of);
    let of_region = |of: &'a OfRegion| {
        let (depth, name) = (of.region.matches('/').count(), of.region.rsplit('/').next());
        (shown_region(name.unwrap_or_default()), depth, &of.of)
    };
    let kinds = [
        Parts { what: "phase", of: all.phases.iter().map(of_phase).collect() },
        Parts { what: "region", of: all.regions.iter().map(of_region).collect() },
    ];
    kinds.into_iter().filter(|parts| !parts.of.is_empty()).map(Parts::longest).collect()
}

impl Parts<'_> {
    /// Without the shortest, where there are too many. A part lasts as long as what lies in it, at least, and comes before that.
    fn longest(mut self) -> Self {
        if self.of.len() > MOST_PARTS {
            let mut times: Vec<f64> = self.of.iter().map(|(.., of)| of.run_s).collect();
            times.sort_by(|a, b| b.total_cmp(a));
            self.of.retain(|(.., of)| of.run_s >= times[MOST_PARTS - 1]);
            self.of.truncate(MOST_PARTS);
        }
        self
    }

    /// The efficiencies that are known of any of them; no other one has a column.
    pub fn known(&self) -> impl Iterator<Item = &'static Quantity<Efficiency>> {
        EFFICIENCY.iter().filter(|quantity| self.of.iter().any(|(.., of)| (quantity.of)(of).is_some()))
    }

    /// A line for each.
    #[must_use]
    pub fn table(&self) -> String {
        let known: Vec<_> = self.known().filter_map(|quantity| quantity.head).collect();
        let kept: Vec<bool> = heads(EFFICIENCY).map(|head| known.contains(&head)).collect();
        let is_counted = self.of.iter().any(|(.., of)| of.counters.is_some());
        let row = |first: String, cells: Vec<String>, last: Vec<String>| -> Vec<String> {
            let kept = cells.into_iter().zip(&kept).filter(|(_, kept)| **kept).map(|(cell, _)| cell);
            std::iter::once(first).chain(kept).chain(last).collect()
        };
        let counted = |cells: [String; 2]| cells.into_iter().filter(|_| is_counted);
        let header = ["busiest", "rank"].map(str::to_owned).into_iter();
        let header = header.chain(counted(["instr/cycle", "frequency"].map(str::to_owned))).collect();
        let mut rows = vec![row(self.what.into(), heads(EFFICIENCY).map(str::to_owned).collect(), header)];
        for (name, depth, of) in &self.of {
            let counters = of.counters.unwrap_or_default();
            let pace = counters.pace().map(|pace| Unit::Ratio.text(pace)).unwrap_or_default();
            let frequency =
                counters.frequency().map(|frequency| Unit::Hertz.text(frequency)).unwrap_or_default();
            let last = [duration(of.max_computing_s), of.busiest_rank.to_string()].into_iter();
            let last = last.chain(counted([pace, frequency])).collect();
            let name = format!("{:1$}{name}", "", 2 * depth);
            rows.push(row(name, cells(EFFICIENCY, &[*of]).collect(), last));
        }
        format!("\n efficiencies of {}s, of the ranks that were in them\n{}", self.what, table(&rows, &[0]))
    }
}

/// A line for each phase, and one for each region; nothing where there are none.
#[must_use]
pub fn by_part(profile: &Profile) -> String {
    let tables = |all| parts(all, &profile.phases).iter().map(Parts::table).collect();
    profile.efficiency.as_ref().map(tables).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
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
        assert_eq!(by_part(&profile), "");
        profile.phases = vec![String::new(), "solve".into()];
        let of = Efficiency::of([(0, 0.25), (1, 0.5)], 0.625).unwrap();
        profile.efficiency.as_mut().unwrap().phases = vec![OfPhase { phase: 1, of }];
        let text = by_part(&profile);
        let line = text.lines().find(|line| line.contains("solve")).unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words.join(" "), "solve 60.0 % 75.0 % 80.0 % 500 ms 1", "{text}");
        assert!(!text.contains("transfer"), "{text}");
    }

    #[test]
    fn regions_lie_in_each_other_and_the_longest_are_kept() {
        let of = |busy: f64, run_s| Efficiency::of([(0, busy), (1, busy)], run_s).unwrap();
        let region = |path: &str, run_s| OfRegion { region: path.into(), of: of(run_s / 2.0, run_s) };
        let mut profile = sample::late_rank(4, 1);
        let regions = [region("", 0.5), region("main", 8.0), region("main/solve", 4.0)];
        profile.efficiency.as_mut().unwrap().regions = regions.to_vec();
        let text = by_part(&profile);
        let lines: Vec<&str> =
            text.lines().skip(3).map(|line| line.split("  50.0").next().unwrap()).collect();
        assert_eq!(
            lines.iter().map(|line| line.trim_end()).collect::<Vec<_>>(),
            [" (no region)", " main", "   solve"],
            "{text}"
        );
        let many = (0..40).map(|number| region(&format!("main/{number}"), 1.0 + 0.1 * f64::from(number)));
        profile.efficiency.as_mut().unwrap().regions.extend(many);
        let text = by_part(&profile);
        assert!(text.contains("   39 ") && text.contains(" main") && !text.contains("   10 "), "{text}");
        assert_eq!(text.lines().count(), 3 + MOST_PARTS);
    }
}
