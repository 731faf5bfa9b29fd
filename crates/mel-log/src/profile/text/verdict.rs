//! The verdict in words.

use super::budget::{LEAST, unexplained};
use super::layout::{percent, wrapped};
use crate::profile::ends;
use crate::profile::processors;
use crate::profile::schema::Profile;
use crate::profile::sums::{all_runs_s, share, whole};
use crate::profile::verdict::{Basis, Finding};

/// The most findings that are told.
const MOST: usize = 5;
/// A run that spends more than this share of its time in MPI, and loses nothing there, is held back by its communication.
const MUCH: f64 = 0.25;

/// At most five findings, each in its own words (time lost, share of the run, line, cause) and with what to do, or that there is none; nothing where calls were not counted.
/// Lines begin with `mark`.
pub fn verdict(profile: &Profile, mark: &str) -> String {
    let Some(findings) = &profile.verdict else { return String::new() };
    let unexplained = profile.budget.as_ref().map(unexplained).unwrap_or_default();
    let lines = |sentences: &[String]| -> String {
        sentences.iter().map(|sentence| wrapped(mark, sentence)).collect()
    };
    let said = match without_findings(profile) {
        Some(said) => wrapped(mark, &said),
        None => told(profile, findings, mark),
    };
    lines(processors::sentence(profile).as_slice()) + &said + &lines(&unexplained)
}

/// What there is to say where calls were counted and no finding is worth a sentence.
#[must_use]
pub fn without_findings(profile: &Profile) -> Option<String> {
    if !profile.verdict.as_ref()?.is_empty() {
        return None;
    }
    let in_mpi = in_mpi(profile);
    let of_budget =
        |part: f64| profile.budget.as_ref().map_or(0.0, |budget| share(part, budget.parts.total_s));
    let parts = profile.budget.as_ref().map(|budget| budget.parts).unwrap_or_default();
    Some(match ends::is_early(profile) {
        true => unended(in_mpi),
        false if of_budget(parts.unexplained_s) >= LEAST => unknown(in_mpi),
        false => quiet(in_mpi, of_budget(parts.waiting_s)),
    })
}

/// The share of MPI in the time of all ranks, if that is known.
fn in_mpi(profile: &Profile) -> Option<f64> {
    profile.has_calls().then(|| share(whole(profile).total_s, all_runs_s(profile)))
}

/// What comes before the findings, of which there is one at least.
pub(super) fn opening(profile: &Profile, findings: &[Finding]) -> String {
    let in_mpi = in_mpi(profile);
    let takes = in_mpi.map(|share| format!("MPI takes {} of the run. ", percent(share))).unwrap_or_default();
    let exact = findings.iter().any(|finding| finding.basis == Basis::Exact);
    let basis = if exact { " (from each call of the trace)" } else { "" };
    format!("{takes}What costs time{basis}:")
}

/// What was found, and what to do.
pub(super) fn finding_in_words(finding: &Finding) -> String {
    let why = finding.why.as_deref().map(sentence);
    [Some(sentence(&finding.text)), why, Some(sentence(&finding.advice))]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(" ")
}

fn told(profile: &Profile, findings: &[Finding], mark: &str) -> String {
    let mut text = wrapped(mark, &opening(profile, findings));
    for (number, finding) in (1..).zip(findings.iter().take(MOST)) {
        text += &wrapped(&format!("{mark}{number}. "), &finding_in_words(finding));
    }
    if findings.len() > MOST {
        let more = findings.len() - MOST;
        text += &wrapped(mark, &format!("{more} more in profile.json (`verdict`)"));
    }
    text
}

/// The same where all is explained, of a run that spent these shares in MPI, if that is known, and waiting.
fn quiet(in_mpi: Option<f64>, waiting: f64) -> String {
    match in_mpi {
        None => "MPI is not what holds this program back: nothing in it costs 1 % of the run".into(),
        Some(share) if share > MUCH && waiting >= LEAST => format!(
            "no single rank keeps others waiting; of the {} of the run that MPI takes {} are waiting, without a line where it is much",
            percent(share),
            percent(waiting)
        ),
        Some(share) if share > MUCH => format!(
            "no rank waits long for another; the {} of the run that MPI takes are the communication itself",
            percent(share)
        ),
        Some(share) => {
            format!("MPI is not what holds this program back: it takes {} of the run", percent(share))
        }
    }
}

/// The same where a part of the time in MPI is not explained.
fn unknown(in_mpi: Option<f64>) -> String {
    let takes = in_mpi.map(|share| format!("; MPI takes {}", percent(share))).unwrap_or_default();
    format!(
        "MEL finds nobody that others wait for 1 % of the run, and cannot explain all of the time in MPI{takes}"
    )
}

/// The same of a run that did not come to its end.
fn unended(in_mpi: Option<f64>) -> String {
    let took = in_mpi.map(|share| format!(", in which MPI took {}", percent(share))).unwrap_or_default();
    format!("until then{took}, no rank is known that kept others waiting for 1 % of the time")
}

/// With a capital at its beginning and a full stop at its end. A name in code, such as that of a file, stays as it is.
pub fn sentence(text: &str) -> String {
    let text = text.trim();
    let is_word = text.split(' ').next().is_some_and(|word| word.chars().all(char::is_lowercase));
    let mut letters = text.chars();
    let first = letters.next().into_iter();
    let first: String = if is_word { first.flat_map(char::to_uppercase).collect() } else { first.collect() };
    let end = if text.is_empty() || text.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{first}{}{end}", letters.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::budget::{Budget, Parts};
    use crate::profile::sample;
    use crate::profile::text::COLUMNS;

    #[test]
    fn findings_have_their_sentence_and_what_to_do() {
        let text = verdict(&sample::late_rank(4, 1), "[MEL] ");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "[MEL] MPI takes 46.0 % of the run. What costs time:");
        assert!(
            lines[1].starts_with("[MEL] 1. Ranks 0, 2, 3 lost 1.20 s (30.0 % of the run) in MPI_Waitall at"),
            "{text}"
        );
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            words.contains("because rank 1 is late (its call: halo.c:40 (exchange)). Let it send before"),
            "{text}"
        );
        assert!(lines.iter().all(|line| line.chars().count() <= COLUMNS), "{text}");
    }

    #[test]
    fn five_are_told_and_the_others_counted() {
        let mut profile = sample::late_rank(4, 1);
        let list = profile.verdict.as_mut().unwrap();
        *list = list.iter().cycle().take(7).cloned().collect();
        let text = verdict(&profile, "");
        assert_eq!(text.matches("of the run) in").count(), 5, "{text}");
        assert!(text.ends_with("2 more in profile.json (`verdict`)\n"), "{text}");
    }

    #[test]
    fn where_mpi_is_not_the_problem_it_is_said() {
        let text = verdict(&sample::healthy(4), "");
        assert_eq!(text, "MPI is not what holds this program back: it takes 1.0 % of the run\n");
        let mut busy = sample::healthy(4);
        busy.ranks.iter_mut().for_each(|rank| rank.calls[2].total_s = 0.8);
        assert!(verdict(&busy, "").starts_with("no rank waits long for another; the 80.6 % of the run"));
    }

    #[test]
    fn what_is_not_explained_is_not_called_communication() {
        let mut busy = sample::healthy(4);
        busy.ranks.iter_mut().for_each(|rank| rank.calls[2].total_s = 0.8);
        let parts = |unexplained_s, waiting_s| Budget {
            parts: Parts { total_s: 4.0, unexplained_s, waiting_s, ..Parts::default() },
            ..Budget::default()
        };
        busy.budget = Some(parts(0.039, 0.0));
        assert!(verdict(&busy, "").starts_with("no rank waits long for another"));
        busy.budget = Some(parts(0.041, 0.0));
        let words = verdict(&busy, "").split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("cannot explain all of the time in MPI; MPI takes 80.6 %"), "{words}");
        busy.budget = Some(parts(0.0, 0.2));
        assert!(verdict(&busy, "").starts_with("no single rank keeps others waiting"));
    }

    #[test]
    fn exact_findings_say_so() {
        let mut profile = sample::late_rank(4, 1);
        for finding in profile.verdict.iter_mut().flatten() {
            finding.basis = Basis::Exact;
        }
        let text = verdict(&profile, "");
        assert!(
            text.contains("What costs time (from each call of the trace):\n1. Ranks 0, 2, 3 lost 1.20 s"),
            "{text}"
        );
        profile.ranks.iter_mut().for_each(|rank| rank.calls.clear());
        assert!(verdict(&profile, "").starts_with("What costs time"));
        profile.verdict = Some(Vec::new());
        assert!(verdict(&profile, "").starts_with("MPI is not what holds this program back: nothing"));
    }

    #[test]
    fn without_calls_there_is_no_verdict() {
        assert_eq!(verdict(&Profile::default(), ""), "");
    }
}
