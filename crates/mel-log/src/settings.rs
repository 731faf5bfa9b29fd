//! Settings: the [catalogue](mel_settings), whether a value is one of its kind, and variables that no entry has.

use std::env;
use std::ffi::OsString;

pub use mel_settings::*;

use crate::names::nearest_names;
use crate::number::{bytes, interval, share};
use crate::plugin_list::PluginName;
use crate::setting::{Setting as Assignment, parse_ranks};

/// The value of a setting in the environment of this process; `None` where it is not set, or empty.
#[must_use]
pub fn of_environment(setting: &Setting) -> Option<OsString> {
    env::var_os(setting.name).filter(|value| !value.is_empty())
}

/// The bytes of a size; 0 for never.
#[must_use]
pub fn size_or_never(text: &str) -> Option<u64> {
    if text == "0" { Some(0) } else { bytes(text) }
}

/// Whether a value is one of this kind. What only the MPI or the program knows, such as names, may be anything.
#[must_use]
pub fn is_understood(kind: Kind, value: &str) -> bool {
    let is_one = |words: &[Word], value: &str| words.iter().any(|word| word.name == value);
    match kind {
        Kind::OneOf(words) => is_one(words, value),
        Kind::SomeOf(words) => value.split(',').all(|value| is_one(words, value)),
        Kind::Time => interval(value).is_some(),
        Kind::Share => share(value).is_some(),
        Kind::Size => bytes(value).is_some(),
        Kind::SizeOrNever => size_or_never(value).is_some(),
        Kind::Ranks => value.parse::<u32>().is_ok(),
        Kind::RankList => parse_ranks(value).is_some(),
        Kind::Assignments => value.parse::<Assignment>().is_ok(),
        Kind::Plugins => PluginName::parse(value).is_some(),
        Kind::On
        | Kind::Off
        | Kind::Events
        | Kind::Patterns
        | Kind::PatternsOrAll
        | Kind::Policies
        | Kind::Directories
        | Kind::Path
        | Kind::Sources
        | Kind::Text => true,
    }
}

/// A line for the user about a value that is not understood.
#[must_use]
pub fn complaint(setting: &Setting, value: &str) -> String {
    format!("{setting}={value}: {}", setting.kind.remedy())
}

/// A line for each of these variables that looks like a setting and is none. What is like no setting is another's.
pub fn unknown<'a>(variables: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let of_one = |name: &str| {
        let prefix = PREFIXES.into_iter().find(|prefix| name.starts_with(prefix))?;
        if of_name(name).is_some() {
            return None;
        }
        // What all names begin with makes none more like another.
        let known: Vec<String> = ALL
            .iter()
            .filter_map(|setting| setting.name.strip_prefix(prefix))
            .map(str::to_lowercase)
            .collect();
        let nearest = nearest_names(&name[prefix.len()..], known.iter().map(String::as_str));
        let nearest = nearest.first()?.to_uppercase();
        Some(format!("{name} is no setting of MEL; nearest: {prefix}{nearest}"))
    };
    variables.into_iter().filter_map(of_one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_default_is_a_value_of_its_kind() {
        for setting in ALL.iter().filter(|setting| !setting.default.value.is_empty()) {
            assert!(is_understood(setting.kind, setting.default.value), "{setting}");
        }
        assert_eq!(interval(EVERY.default.value), Some(std::time::Duration::from_secs(1)));
        assert_eq!(size_or_never(TELL_SIZE.default.value), Some(1 << 30));
        assert_eq!(share(ATTRIBUTE_BUDGET.default.value), Some(Some(0.03)));
    }

    #[test]
    fn a_value_is_judged_by_its_kind() {
        for (setting, right, wrong) in [
            (&PROFILE, "calls,net", "calls,nets"),
            (&EVERY, "500ms", "soon"),
            (&ATTRIBUTE_BUDGET, "none", "60%"),
            (&LIMIT, "2G", "0"),
            (&TELL_SIZE, "0", "-1"),
            (&MODE, "group", "world"),
            (&EXACT_RANKS, "7", "all"),
            (&SET, "a=1@0,4-7", "a"),
            (&PLUGINS, "a,1", ",1"),
            (&PROGRESS, "signal", "yes"),
        ] {
            assert!(is_understood(setting.kind, right), "{setting}={right}");
            assert!(!is_understood(setting.kind, wrong), "{setting}={wrong}");
        }
        assert_eq!(complaint(&LIMIT, "lots"), "MEL_LIMIT=lots: give a size such as 500M or 2G");
    }

    #[test]
    fn a_slip_of_the_pen_is_told_and_what_others_set_is_not() {
        let line = |name: &str| unknown([name]).pop();
        assert_eq!(line("MEL_OUTPT").unwrap(), "MEL_OUTPT is no setting of MEL; nearest: MEL_OUTPUT");
        assert_eq!(line("MEL_EVENT").unwrap(), "MEL_EVENT is no setting of MEL; nearest: MEL_EVENTS");
        assert_eq!(line("MPIT_SOURCE").unwrap(), "MPIT_SOURCE is no setting of MEL; nearest: MPIT_SOURCES");
        for of_others in
            ["MEL_OUTPUT", "PATH", "MEL_ROOT", "MEL_TEST", "MEL_MAY_SKIP", "MEL_BUNDLE", "MEL_SLURM"]
        {
            assert_eq!(line(of_others), None, "{of_others}");
        }
    }
}
