//! Performance variables by MPI function, region and call site, from the profile.

use super::over::OfRank;
use mel_log::profile::Profile;
use mel_log::profile::attribution::{By, NO_REGION, Over, Variable, over_ranks};
use serde::Serialize;

/// The most rows of each table: those with the greatest share of their variable.
const MOST: usize = 2000;

/// A place of a variable.
#[derive(Debug, Serialize)]
pub struct Row {
    /// The variable.
    pub variable: String,
    /// Its class.
    pub class: String,
    /// Whether its values are modelled, estimated or observed.
    pub basis: String,
    /// Whether some calls only were read, so that the share is an estimate.
    pub is_estimated: bool,
    /// The function, the region, or the call site.
    pub place: String,
    /// The function, by call site.
    pub function: String,
    /// Calls, or stretches between calls.
    pub times: u64,
    /// What it has grown by on all ranks; of a level the mean.
    pub sum: f64,
    /// The part of what the variable has grown by, if it counts up.
    pub share: Option<f64>,
    /// The least of a rank.
    pub least: OfRank,
    /// The greatest.
    pub greatest: OfRank,
}

/// Rows by what they are put together by.
#[derive(Debug, Default, Serialize)]
pub struct Attribution {
    /// By MPI function.
    pub functions: Vec<Row>,
    /// By region; none where there are no regions.
    pub regions: Vec<Row>,
    /// By call site.
    pub sites: Vec<Row>,
}

/// What there is to show; `None` where nothing was attributed.
pub fn attribution(profile: &Profile) -> Option<Attribution> {
    let rows = |by| {
        let all = over_ranks(profile, by);
        let mut rows: Vec<Row> = all
            .iter()
            .flat_map(|variable| variable.places.iter().map(|place| row(variable, place)))
            .filter(|row| row.sum != 0.0)
            .collect();
        rows.sort_by(|a, b| b.share.unwrap_or(0.0).total_cmp(&a.share.unwrap_or(0.0)));
        rows.truncate(MOST);
        rows
    };
    let functions = rows(By::Function);
    if functions.is_empty() {
        return None;
    }
    let mut regions = rows(By::Region);
    if regions.iter().all(|row| row.place == NO_REGION) {
        regions.clear();
    }
    Some(Attribution { functions, regions, sites: rows(By::Site) })
}

fn row(variable: &Variable, place: &Over) -> Row {
    let counts = variable.of.counts() && variable.grown != 0.0;
    Row {
        variable: variable.of.title(),
        class: variable.of.class.clone(),
        basis: variable.of.basis.clone(),
        is_estimated: variable.every > 1 && counts,
        place: place.place.clone(),
        function: place.function.clone(),
        times: place.times,
        sum: place.sum,
        share: counts.then_some(place.sum / variable.grown),
        least: OfRank::from(place.least),
        greatest: OfRank::from(place.greatest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mel_log::profile::{AttributedProfile, RankProfile, ShareProfile};

    #[test]
    fn shares_are_of_what_the_variable_has_grown_by() {
        assert!(attribution(&Profile::default()).is_none());
        let share = |function: &str, amount| ShareProfile {
            function: function.into(),
            times: 1,
            amount: Some(amount),
            ..ShareProfile::default()
        };
        let of = AttributedProfile {
            name: "sent".into(),
            class: "counter".into(),
            grown: Some(4.0),
            every: 3,
            shares: vec![share("", 1.0), share("MPI_Send", 3.0)],
            ..AttributedProfile::default()
        };
        let rank = RankProfile { attributed: vec![of], ..RankProfile::default() };
        let shown = attribution(&Profile { ranks: vec![rank], ..Profile::default() }).unwrap();
        let rows: Vec<_> =
            shown.functions.iter().map(|row| (&*row.place, row.share, row.is_estimated)).collect();
        assert_eq!(rows, [("MPI_Send", Some(0.75), true), ("outside MPI", Some(0.25), true)]);
        assert!(shown.regions.is_empty() && shown.sites.len() == 2);
    }
}
