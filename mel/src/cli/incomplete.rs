//! What is missing of a run's files: a line each on standard error, and an exit code of its own, so that scripts notice. The output is
//! written all the same.

use std::process::ExitCode;

use super::output;
use mel_log::profile::Profile;

/// Something of the run is missing: files were cut off, damaged, or are not there.
pub const INCOMPLETE: u8 = 3;

/// Complains of what is missing; the exit code of a command that has written what there is.
pub fn complain<S: AsRef<str>>(sentences: &[S]) -> ExitCode {
    for sentence in sentences {
        output::warn(sentence.as_ref());
    }
    code(sentences.is_empty())
}

/// The exit code of a command that has written what there is.
pub fn code(is_whole: bool) -> ExitCode {
    if is_whole { ExitCode::SUCCESS } else { ExitCode::from(INCOMPLETE) }
}

/// What is missing of a profile, in a sentence each.
pub fn missing(profile: &Profile) -> Vec<String> {
    let who = profile.missing_ranks().in_words();
    let of_many = Some(profile.missing_of_many()).filter(|missing| *missing > 0);
    let who = who.or_else(|| of_many.map(|missing| format!("{missing} of the ranks")));
    profile.incomplete.iter().cloned().chain(who.map(|who| format!("{who} left no profile"))).collect()
}
