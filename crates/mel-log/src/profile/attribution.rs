//! What performance variables did in each call and region: of a rank, and summed over the ranks.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::phases::shown;
use super::schema::Profile;
use super::sums::Names;
use super::variables::counts;

/// What is told of a share that belongs to no MPI function.
pub const OUTSIDE: &str = "outside MPI";
/// What is told of contexts that found no space of their own.
pub const ELSEWHERE: &str = "(others)";

/// What is told of what is in no region.
pub const NO_REGION: &str = "(no region)";

/// What has changed where none of the calls that were read has met it.
pub const NOT_READ: &str = "(calls not read)";

/// A variable of a rank, and where what it did belongs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AttributedProfile {
    /// Its name.
    pub name: String,
    /// Its class, as MPI has it, in lower case: `level`, `counter` and so on.
    pub class: String,
    /// What it means.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Whether it is one of the MPI's own, and not one of MEL's.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub of_mpi: bool,
    /// The communicator that it was read for; empty where it is bound to nothing, and where all communicators are taken together.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub object: String,
    /// Whether its values are `modelled`, `estimated` or `observed`.
    pub basis: String,
    /// The value at the beginning and at the end of the run.
    pub first: f64,
    /// See `first`.
    pub last: f64,
    /// By how much it has grown between these, if it counts up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grown: Option<f64>,
    /// At the most one in so many calls was read. Where it is 1, every call was, and what the shares have adds up to `grown`; else
    /// the shares are estimates, and `grown` is exact. 0 of a variable that is only listed.
    pub every: u64,
    /// How often it was read, where that takes more than a load, and the time of it, with all variables that are read together.
    #[serde(skip_serializing_if = "is_zero")]
    pub reads: u64,
    /// See `reads`.
    #[serde(skip_serializing_if = "is_no_time")]
    pub read_s: f64,
    /// Where it belongs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shares: Vec<ShareProfile>,
}

/// What a variable did in one context.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ShareProfile {
    /// The MPI function; empty for what is outside of MPI.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub function: String,
    /// The call site, as a place in the profile's `sites`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub site: Option<u32>,
    /// The communicator, as a place in the profile's `communicators`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub communicator: Option<u32>,
    /// The phase, as a place in the profile's `phases`.
    #[serde(skip_serializing_if = "is_first")]
    pub phase: u32,
    /// The region, as a path of names; empty for none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub region: String,
    /// The thread.
    #[serde(skip_serializing_if = "is_first")]
    pub thread: u32,
    /// Calls, or stretches between calls.
    pub times: u64,
    /// How many of them the variable was read for.
    pub read: u64,
    /// By how much it has grown in them; of a watermark, what its changes were together. Estimated where not all were read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amount: Option<f64>,
    /// In how many of those that were read it has changed.
    pub changes: u64,
    /// The least value; of one that counts up, the least that it has grown by in one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    /// Their mean, of one that counts up and of a level.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean: Option<f64>,
    /// The greatest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
    /// The last value, of one that does not count up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_first(number: &u32) -> bool {
    *number == 0
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_no_time(number: &f64) -> bool {
    *number == 0.0
}

impl AttributedProfile {
    /// Whether it counts up.
    pub fn counts(&self) -> bool {
        counts(&self.class)
    }

    /// Whether what its shares have is estimated, because some calls only were read.
    pub fn is_estimated(&self) -> bool {
        self.every > 1
    }

    /// Its name, with the object where that is not the whole world.
    pub fn title(&self) -> String {
        match &*self.object {
            "" | "MPI_COMM_WORLD" => self.name.clone(),
            object => format!("{} ({object})", self.name),
        }
    }
}

/// What shares are put together by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum By {
    /// MPI functions, and what is outside.
    Function,
    /// Regions; in programs that name phases, with the phase.
    Region,
    /// Call sites, each with its function.
    Site,
}

/// What a variable did in one place, over the ranks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Over {
    /// The function, the region, or the call site.
    pub place: String,
    /// The function, by call site.
    pub function: String,
    /// Calls, or stretches between calls, of all ranks.
    pub times: u64,
    /// What it has grown by: of all ranks; of a level the mean over them; of a state the mean of the last values.
    pub sum: f64,
    /// The least of a rank, and which; ranks that have nothing there count as zero where the variable counts up.
    pub least: (f64, u32),
    /// The greatest.
    pub greatest: (f64, u32),
    /// How many ranks have something there.
    pub ranks: u32,
}

/// A variable over the ranks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Variable {
    /// What it is on the first rank that has it, without shares.
    pub of: AttributedProfile,
    /// By how much it has grown on all ranks, if it counts up.
    pub grown: f64,
    /// The most calls of which one was read, of any rank.
    pub every: u64,
    /// How many ranks have it.
    pub ranks: u32,
    /// Places, with the greatest sum first.
    pub places: Vec<Over>,
}

/// The variables over the ranks, with what they did by place; those that are only listed have none.
pub fn over_ranks(profile: &Profile, by: By) -> Vec<Variable> {
    let names = Names::of(profile);
    let mut all: Vec<Variable> = Vec::new();
    let mut numbers: BTreeMap<(&str, &str, &str), usize> = BTreeMap::new();
    let mut places: Vec<BTreeMap<(String, String), BTreeMap<u32, Sum>>> = Vec::new();
    for rank in &profile.ranks {
        for of in &rank.attributed {
            let number = *numbers.entry((&of.name, &of.class, &of.object)).or_insert_with(|| {
                let without = AttributedProfile { shares: Vec::new(), ..of.clone() };
                all.push(Variable { of: without, ..Variable::default() });
                places.push(BTreeMap::new());
                all.len() - 1
            });
            let variable = &mut all[number];
            variable.grown += of.grown.unwrap_or(0.0);
            variable.every = variable.every.max(of.every);
            variable.ranks += 1;
            let is_state = matches!(&*of.class, "state" | "size");
            // A state that is the same as before says nothing of the place.
            for share in of.shares.iter().filter(|share| !is_state || share.changes > 0) {
                let function = if share.function.is_empty() { OUTSIDE } else { &share.function };
                let key = match by {
                    By::Function => (function.to_owned(), String::new()),
                    By::Region => (region(profile, share), String::new()),
                    By::Site => {
                        let site = names.name(share.site).unwrap_or_default();
                        let site = if share.function.is_empty() { OUTSIDE } else { site };
                        (site.to_owned(), function.to_owned())
                    }
                };
                places[number].entry(key).or_default().entry(rank.rank).or_default().add(share);
            }
        }
    }
    for (variable, places) in all.iter_mut().zip(places) {
        let states = matches!(&*variable.of.class, "state" | "size");
        let levels = states || matches!(&*variable.of.class, "level" | "percentage");
        for ((place, function), ranks) in places {
            let value = |sum: &Sum| match (states, levels) {
                (true, _) => sum.value,
                (_, true) => sum.mean(),
                _ => sum.amount,
            };
            let mut over = Over { place, function, ranks: ranks.len() as u32, ..Over::default() };
            let mut values: Vec<(f64, u32)> = ranks.iter().map(|(rank, sum)| (value(sum), *rank)).collect();
            over.times = ranks.values().fold(0, |times, sum| times.saturating_add(sum.times));
            over.sum = values.iter().map(|(value, _)| value).sum();
            if levels {
                over.sum /= values.len().max(1) as f64;
            } else if let Some(other) = profile.ranks.iter().find(|rank| !ranks.contains_key(&rank.rank)) {
                values.push((0.0, other.rank));
            }
            let by_value = |a: &&(f64, u32), b: &&(f64, u32)| a.0.total_cmp(&b.0);
            over.least = values.iter().min_by(by_value).copied().unwrap_or_default();
            // Of ranks that are alike the first.
            over.greatest = values.iter().rev().max_by(by_value).copied().unwrap_or_default();
            variable.places.push(over);
        }
        variable.places.sort_by(|a, b| b.sum.abs().total_cmp(&a.sum.abs()));
    }
    all
}

/// What shares of a rank have together.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    times: u64,
    amount: f64,
    read: u64,
    values: f64,
    value: f64,
}

impl Sum {
    fn add(&mut self, share: &ShareProfile) {
        self.times = self.times.saturating_add(share.times);
        self.amount += share.amount.unwrap_or(0.0);
        self.read = self.read.saturating_add(share.read);
        self.value = self.value.max(share.value.unwrap_or(0.0));
        self.values += share.mean.unwrap_or(0.0) * share.read as f64;
    }

    fn mean(&self) -> f64 {
        if self.read == 0 { 0.0 } else { self.values / self.read as f64 }
    }
}

/// A region as it is shown: with its phase, where the program names phases.
pub fn region(profile: &Profile, share: &ShareProfile) -> String {
    let region = shown_region(&share.region);
    match profile.phases.get(share.phase as usize) {
        Some(phase) => format!("{}: {region}", shown(phase)),
        None => region.to_owned(),
    }
}

/// How a region is shown: what is in none, too.
pub fn shown_region(path: &str) -> &str {
    if path.is_empty() { NO_REGION } else { path }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::profile::{CallSite, RankProfile};

    /// Two ranks with a counter in two functions and outside, by region; and a level.
    pub(crate) fn profile() -> Profile {
        let share = |function: &str, site, region: &str, times, amount| ShareProfile {
            function: function.into(),
            site,
            region: region.into(),
            times,
            read: times,
            amount: Some(amount),
            changes: 1,
            ..ShareProfile::default()
        };
        let ranks = (0..2).map(|rank| {
            let more = f64::from(rank) * 10.0;
            let shares = vec![
                share("MPI_Wait", Some(0), "main/solve", 100, 50.0 + more),
                share("MPI_Wait", Some(1), "main", 10, 5.0),
                share("", None, "main", 110, 2.0),
            ];
            let frees = AttributedProfile {
                name: "num_free_calls".into(),
                class: "counter".into(),
                of_mpi: true,
                basis: "observed".into(),
                last: 57.0 + more,
                grown: Some(57.0 + more),
                every: 1,
                shares,
                ..AttributedProfile::default()
            };
            let level = |mean| ShareProfile {
                function: "MPI_Recv".into(),
                times: 4,
                read: 4,
                mean: Some(mean),
                ..ShareProfile::default()
            };
            let length = AttributedProfile {
                name: "mel_posted_queue_length".into(),
                class: "level".into(),
                basis: "modelled".into(),
                every: 1,
                shares: vec![level(f64::from(rank) + 1.0)],
                ..AttributedProfile::default()
            };
            RankProfile { rank, attributed: vec![frees, length], ..RankProfile::default() }
        });
        let site = |line| CallSite { file: "a.c".into(), line, function: "f".into(), ..CallSite::default() };
        Profile { ranks: ranks.collect(), sites: vec![site(3), site(9)], ..Profile::default() }
    }

    #[test]
    fn over_the_ranks_there_are_sums_extremes_and_whose_they_are() {
        let all = over_ranks(&profile(), By::Function);
        assert_eq!((all.len(), all[0].grown, all[0].ranks), (2, 124.0, 2));
        let places: Vec<_> = all[0].places.iter().map(|of| (&*of.place, of.sum, of.times)).collect();
        assert_eq!(places, [("MPI_Wait", 120.0, 220), (OUTSIDE, 4.0, 220)]);
        let wait = &all[0].places[0];
        assert_eq!((wait.least, wait.greatest), ((55.0, 0), (65.0, 1)));
        // Of a level the mean.
        assert_eq!((all[1].places[0].sum, all[1].places[0].greatest), (1.5, (2.0, 1)));
    }

    #[test]
    fn regions_and_call_sites_are_places_too() {
        let all = over_ranks(&profile(), By::Region);
        let places: Vec<_> = all[0].places.iter().map(|of| (&*of.place, of.sum)).collect();
        assert_eq!(places, [("main/solve", 110.0), ("main", 14.0)]);
        let all = over_ranks(&profile(), By::Site);
        let places: Vec<_> = all[0].places.iter().map(|of| (&*of.place, &*of.function, of.sum)).collect();
        let expected =
            [("a.c:3 (f)", "MPI_Wait", 110.0), ("a.c:9 (f)", "MPI_Wait", 10.0), (OUTSIDE, OUTSIDE, 4.0)];
        assert_eq!(places, expected);
    }
}
