//! Two runs side by side: what takes longer in the second, and what less.
//!
//! - [`compare`]: pairs the numbers of both.
//! - [`condition`]: what may not have changed, such as `mpi_time>+5%`.
//! - [`terminal`]: the tables.

pub mod condition;
pub mod terminal;

use std::collections::{BTreeMap, HashMap};

use mel_log::profile::quantities::run::RUN;
use mel_log::profile::quantities::sites::{CALLED, Part};
use mel_log::profile::quantities::{Quantity, Unit, queues};
use mel_log::profile::schema::{Profile, RankProfile};
use mel_log::profile::sums::{OfFunction, OfSite, all_runs_s, by_function, by_site, waits};
use mel_log::profile::text::waits::word;
use serde::{Serialize, Serializer};

/// What a number is a number of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Section {
    /// The run as a whole.
    Run,
    /// The calls of an MPI function, of all ranks together.
    Function,
    /// The calls from one call site, of all ranks together.
    CallSite,
    /// The time lost in the waits of a call site, of all ranks together.
    WaitState,
    /// The queues of all ranks.
    Queue,
}

/// A number in both runs. What one of them lacks is zero there.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// What it is a number of.
    pub section: Section,
    /// Its name within the section.
    pub name: String,
    /// How it is written.
    #[serde(serialize_with = "symbol")]
    pub unit: Unit,
    /// In the first run.
    pub a: f64,
    /// In the second run.
    pub b: f64,
}

fn symbol<S: Serializer>(unit: &Unit, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(unit.symbol())
}

impl Change {
    /// By how much the second is greater.
    pub fn difference(&self) -> f64 {
        self.b - self.a
    }

    /// The same as a part of the first; none where that is zero and the second is not.
    pub fn relative(&self) -> Option<f64> {
        match (self.a, self.b) {
            (0.0, 0.0) => Some(0.0),
            (0.0, _) => None,
            (a, b) => Some((b - a) / a),
        }
    }
}

/// Two runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Diff {
    /// The numbers that either has: sections in their order, in each the largest change first.
    pub changes: Vec<Change>,
    /// The time of all ranks together, between `MPI_Init` and `MPI_Finalize`, in the second run.
    pub all_runs_s: f64,
}

impl Diff {
    /// Whether a number of the run as a whole is not known of the second run.
    pub fn lacks(&self, name: &str) -> bool {
        let of_run = |change: &Change| change.section == Section::Run && change.name == name;
        RUN.iter().any(|quantity| quantity.name == name) && !self.changes.iter().any(of_run)
    }

    /// A number by the name that [`condition`]s have for it: one of the run as a whole, an MPI function, or a call site as
    /// `file:line`. Zero in both runs where neither has it.
    pub fn find(&self, name: &str) -> Change {
        let is_at = |change: &Change| {
            change.section == Section::CallSite
                && change.name.split_once(' ').is_some_and(|(site, _)| site == name)
        };
        let is_it = |change: &Change| {
            matches!(change.section, Section::Run | Section::Function) && change.name == name || is_at(change)
        };
        // Several functions may be called from one line.
        let mut found = self.changes.iter().filter(|change| is_it(change));
        let nothing =
            Change { section: Section::Function, name: name.to_owned(), unit: Unit::Seconds, a: 0.0, b: 0.0 };
        let Some(first) = found.next().cloned() else { return nothing };
        found.fold(first, |sum, change| Change { a: sum.a + change.a, b: sum.b + change.b, ..sum })
    }
}

/// Numbers by name.
type Named = BTreeMap<String, f64>;

/// Compares two runs: `a` is the earlier, or the one to hold the other against.
pub fn compare(a: &Profile, b: &Profile) -> Diff {
    let mut changes = Vec::new();
    let mut add = |section, unit, a: Named, b: Named| {
        let mut both: BTreeMap<String, (f64, f64)> = BTreeMap::new();
        a.into_iter().for_each(|(name, value)| both.entry(name).or_default().0 = value);
        b.into_iter().for_each(|(name, value)| both.entry(name).or_default().1 = value);
        let named = both.into_iter().map(|(name, (a, b))| Change { section, name, unit, a, b });
        let mut named: Vec<Change> = named.collect();
        named.sort_by(|one, two| two.difference().abs().total_cmp(&one.difference().abs()));
        changes.extend(named);
    };
    for quantity in RUN {
        let of = |profile| {
            (quantity.of)(profile).map(|value| (quantity.name.to_owned(), value)).into_iter().collect()
        };
        // What the second run does not have is not zero there: it is not known.
        if (quantity.of)(b).is_some() {
            add(Section::Run, quantity.unit, of(a), of(b));
        }
    }
    let names = SiteNames::between(a, b);
    for quantity in CALLED.iter().filter(|quantity| quantity.diff) {
        add(Section::Function, quantity.unit, functions(a, quantity), functions(b, quantity));
        let [of_a, of_b] = [sites(a, None, quantity), sites(b, Some(&names), quantity)];
        add(Section::CallSite, quantity.unit, of_a, of_b);
    }
    add(Section::WaitState, Unit::Seconds, wait_states(a, None), wait_states(b, Some(&names)));
    for unit in [Unit::Seconds, Unit::Count] {
        add(Section::Queue, unit, queues(a, unit), queues(b, unit));
    }
    Diff { changes, all_runs_s: all_runs_s(b) }
}

fn functions(profile: &Profile, quantity: &Quantity<Part>) -> Named {
    let part = Part::of_run(profile);
    let named = |of: OfFunction| Some((of.function, (quantity.of)(&part(&of.sum))?));
    by_function(profile).into_iter().filter_map(named).collect()
}

fn sites(profile: &Profile, names: Option<&SiteNames>, quantity: &Quantity<Part>) -> Named {
    let part = Part::of_run(profile);
    let mut parts: BTreeMap<String, Vec<Part>> = BTreeMap::new();
    for site in by_site(profile) {
        let name = site_name(site.site.as_deref(), &site.function);
        let name = names.map_or(name.clone(), |names| names.name(&name));
        parts.entry(name).or_default().push(part(&site.sum));
    }
    parts.into_iter().filter_map(|(name, parts)| Some((name, quantity.folded(&parts)?))).collect()
}

fn wait_states(profile: &Profile, names: Option<&SiteNames>) -> Named {
    let mut sums = BTreeMap::new();
    for wait in waits(profile) {
        let site = site_name(wait.site.as_deref(), &wait.function);
        let site = names.map_or(site.clone(), |names| names.name(&site));
        *sums.entry(format!("{}: {site}", word(wait.kind))).or_default() += wait.lost_s;
    }
    sums
}

fn site_name(site: Option<&str>, function: &str) -> String {
    format!("{} {function}", site.unwrap_or("(not known)"))
}

/// What call sites of the second run are called in the first. A line may have moved since: where a function has one call of an MPI
/// function in both programs, it is the same.
#[derive(Debug)]
struct SiteNames(HashMap<String, String>);

impl SiteNames {
    fn between(a: &Profile, b: &Profile) -> SiteNames {
        let names = |profile| -> Vec<String> {
            by_site(profile)
                .iter()
                .map(|OfSite { site, function, .. }| site_name(site.as_deref(), function))
                .collect()
        };
        let (of_a, of_b) = (names(a), names(b));
        let moved = |mine: &[String], others: &[String]| {
            let mut moved: HashMap<String, Vec<String>> = HashMap::new();
            for name in mine.iter().filter(|name| !others.contains(name)) {
                moved.entry(without_line(name)).or_default().push(name.clone());
            }
            moved
        };
        let (from, to) = (moved(&of_b, &of_a), moved(&of_a, &of_b));
        let pairs = from.into_iter().filter_map(|(place, names)| {
            match (&names[..], to.get(&place).map(Vec::as_slice)) {
                ([one], Some([other])) => Some((one.clone(), other.clone())),
                _ => None,
            }
        });
        SiteNames(pairs.collect())
    }

    fn name(&self, name: &str) -> String {
        self.0.get(name).cloned().unwrap_or_else(|| name.to_owned())
    }
}

/// `halo.c (exchange) MPI_Recv` of `halo.c:42 (exchange) MPI_Recv`, and `exchange, halo` of `exchange, halo+0x1234`.
fn without_line(name: &str) -> String {
    name.split(' ')
        .map(|word| match word.rsplit_once(':').or_else(|| word.rsplit_once("+0x")) {
            Some((before, number)) if number.chars().all(|c| c.is_ascii_hexdigit()) => before,
            _ => word,
        })
        .collect::<Vec<_>>()
        .join(" ")
}

/// The numbers of the queues in this unit, of all ranks together: sums, and the longest of any.
fn queues(profile: &Profile, unit: Unit) -> Named {
    let compared =
        queues::ALL.into_iter().flatten().filter(|quantity| quantity.diff && quantity.unit == unit);
    let number = |of: &Quantity<RankProfile>| {
        (format!("{}: {}", of.group, of.name), of.over_run(profile).unwrap_or(0.0))
    };
    compared.map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mel_log::profile::sample;

    fn section(diff: &Diff, section: Section) -> Vec<&Change> {
        diff.changes.iter().filter(|change| change.section == section).collect()
    }

    #[test]
    fn very_many_ranks_have_the_same_numbers() {
        let (whole, reduced) = (sample::late_rank(300, 17), sample::reduced(300, 17));
        for change in compare(&whole, &reduced).changes {
            assert!(change.difference().abs() <= 1e-9 * change.a.abs(), "{change:?}");
        }
    }

    #[test]
    fn a_run_is_as_itself() {
        let profile = sample::late_rank(4, 1);
        let diff = compare(&profile, &profile);
        assert!(diff.changes.iter().all(|change| change.difference() == 0.0), "{:?}", diff.changes);
        assert!(RUN.iter().all(|quantity| diff.find(quantity.name).name == quantity.name));
    }

    #[test]
    fn the_largest_change_comes_first() {
        let diff = compare(&sample::healthy(4), &sample::late_rank(4, 1));
        for (kind, name) in [
            (Section::Function, "MPI_Waitall"),
            (Section::CallSite, "halo.c:44 (exchange) MPI_Waitall"),
            (Section::WaitState, "late sender: halo.c:44 (exchange) MPI_Waitall"),
        ] {
            let first = section(&diff, kind)[0];
            assert_eq!(first.name, name);
            assert!((first.difference() - 1.2).abs() < 1e-9, "{first:?}");
        }
        assert!((diff.find("lost_time").b - 1.8).abs() < 1e-9);
        assert_eq!(diff.find("lost_time").relative(), None);
        assert!((diff.find("halo.c:44").difference() - 1.2).abs() < 1e-9);
        assert_eq!(diff.find("MPI_Bcast").difference(), 0.0);
    }

    #[test]
    fn a_line_that_has_moved_is_the_same_call_site() {
        let (before, mut after) = (sample::late_rank(4, 1), sample::late_rank(4, 1));
        after.sites.iter_mut().filter(|site| site.line > 0).for_each(|site| site.line += 7);
        after.sites[4].offset += 0x100;
        let diff = compare(&before, &after);
        assert!(diff.changes.iter().all(|change| change.difference() == 0.0), "{:?}", diff.changes);
        // Of two calls in one function nobody knows which is which.
        let mut two = before.clone();
        let call = two.ranks[0].calls[0].clone();
        two.sites.push(mel_log::profile::CallSite { line: 41, ..two.sites[0].clone() });
        two.ranks[0].calls.push(mel_log::profile::CallProfile { site: Some(5), ..call });
        assert_eq!(section(&compare(&two, &after), Section::CallSite).len(), 7);
    }

    #[test]
    fn names_lose_their_line_and_nothing_else() {
        assert_eq!(without_line("halo.c:44 (std::exchange) MPI_Recv"), "halo.c (std::exchange) MPI_Recv");
        assert_eq!(without_line("exchange, halo+0x12f4 MPI_Recv"), "exchange, halo MPI_Recv");
    }
}
