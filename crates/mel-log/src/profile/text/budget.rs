//! Where the time goes: the first lines of a report.

use super::layout::percent;
use crate::number::duration;
use crate::profile::budget::{Budget, Unexplained};
use crate::profile::schema::Profile;
use crate::profile::sums::share;

/// What costs less than this share of the time is not worth a word.
pub(super) const LEAST: f64 = 0.01;
/// The most places of which it is told that their time is not explained.
const MOST: usize = 3;

/// What the parts of the time of all ranks are, each with its share, in a sentence; none where that is not known.
#[must_use]
pub fn parts(profile: &Profile) -> Option<String> {
    let parts = profile.budget.as_ref()?.parts;
    let all = parts.total_s;
    let shown = parts.named().into_iter().filter(|(_, seconds)| share(*seconds, all) >= 0.0005);
    let shown: Vec<String> =
        shown.map(|(name, seconds)| format!("{} {name}", percent(share(seconds, all)))).collect();
    Some(format!("of {} of all ranks together: {}", duration(all), shown.join(", ")))
}

/// Where time is not explained, and what was not looked at, in a sentence each; nothing where that is little.
#[must_use]
pub fn unexplained(budget: &Budget) -> Vec<String> {
    let all = budget.parts.total_s;
    let is_much = |seconds: f64| share(seconds, all) >= LEAST;
    let sentence = |place: &Unexplained| {
        let at = place.site.as_ref().map(|site| format!(" at {site}")).unwrap_or_default();
        let (seconds, part) = (duration(place.seconds), percent(share(place.seconds, all)));
        format!("{seconds} ({part}) in {}{at} that MEL cannot explain", place.function)
    };
    let places = budget.unexplained.iter().filter(|place| is_much(place.seconds));
    let mut sentences: Vec<String> = places.take(MOST).map(sentence).collect();
    if !budget.not_looked_at.is_empty() {
        let names = budget.not_looked_at.join(", ");
        sentences
            .push(format!("not looked at for waiting: {names} (mel run --trace does, with mel analyze)"));
    }
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::budget::Parts;

    #[test]
    fn parts_have_their_shares_and_what_is_not_explained_its_line() {
        let parts =
            Parts { total_s: 10.0, computing_s: 8.0, waiting_s: 1.0, unexplained_s: 1.0, ..Parts::default() };
        let of = |function: &str, seconds| Unexplained {
            function: function.into(),
            site: Some("app.c:6 (main)".into()),
            seconds,
        };
        let budget = Budget {
            parts,
            unexplained: vec![of("MPI_Wait", 0.83), of("MPI_Send", 0.05)],
            not_looked_at: vec!["MPI_Win_lock".into()],
            ..Budget::default()
        };
        let profile = Profile { budget: Some(budget.clone()), ..Profile::default() };
        assert_eq!(
            super::parts(&profile).unwrap(),
            "of 10.0 s of all ranks together: 80.0 % computing, 10.0 % waiting for others, 10.0 % not explained"
        );
        let sentences = unexplained(&budget);
        assert_eq!(sentences[0], "830 ms (8.3 %) in MPI_Wait at app.c:6 (main) that MEL cannot explain");
        assert!(sentences[1].starts_with("not looked at for waiting: MPI_Win_lock"), "{sentences:?}");
        assert_eq!((sentences.len(), super::parts(&Profile::default())), (2, None));
    }
}
