//! The catalogue of MEL's settings: each variable of the environment, with all that is known of it.
//!
//! One entry for each setting in [`ALL`]: the option of `mel run`, what its value may be, what holds without
//! it, the words for users. From it come the words of the options of `mel run`, in help, man pages and
//! completions, and what their values may be (`mel/src/cli/settings.rs`); names and defaults of what the
//! preloaded library reads (`crates/mel-preload/src/config.rs`); and the table in `docs/environment.md`.
//!
//! Beside it stands [`MARK`], by which users know what MEL says.
//!
//! Plain data: nothing here knows MPI, reads the environment or parses a command line.
//! `mel_log::settings` reads values.

mod catalogue;
#[cfg(test)]
mod documentation;

use std::fmt;

pub use catalogue::*;

/// What begins each line, or each sentence, that MEL says on standard error while a program runs, before it or after it, so that
/// users tell it from the program's own. What a command was asked for, a report or a table, goes to standard output without it.
pub const MARK: &str = "[MEL] ";

/// A line without [`MARK`]: for who passes on what another process of MEL has said.
#[must_use]
pub fn without_mark(line: &str) -> &str {
    line.strip_prefix(MARK).unwrap_or(line)
}

/// What the names of all variables begin with.
pub const PREFIXES: [&str; 2] = ["MEL_", "MPIT_"];

/// A setting of MEL.
#[derive(Debug)]
pub struct Setting {
    /// Its variable in the environment.
    pub name: &'static str,
    /// Its option of `mel run`.
    pub option: Option<Flag>,
    /// What its value may be.
    pub kind: Kind,
    /// What holds where it is not set.
    pub default: Unset,
    /// How it comes to where it is read.
    pub reach: Reach,
    /// What it does, in a sentence or two without the last full stop.
    pub short: &'static str,
    /// More of it, in whole sentences; empty for nothing.
    pub long: &'static str,
    /// The place in `docs/` that explains it; empty for none.
    pub more: &'static str,
}

/// An option of `mel run`.
#[derive(Debug)]
pub struct Flag {
    /// Its name, after `--`.
    pub long: &'static str,
    /// Its letter, after `-`.
    pub short: Option<char>,
    /// What stands for its value in help; empty for an option that takes none.
    pub value: &'static str,
    /// Whether it may be given several times.
    pub repeats: bool,
    /// The setting that must be given on the command line, too.
    pub needs: Option<&'static Setting>,
}

/// A word that a value may be, and what it means; no meaning where the word says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word {
    /// The word.
    pub name: &'static str,
    /// What it means.
    pub meaning: &'static str,
}

/// What the value of a setting may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `1` switches something on that is off.
    On,
    /// `0` switches something off that is on.
    Off,
    /// One of these words.
    OneOf(&'static [Word]),
    /// Some of these words with commas; the last one stands for nothing, and alone.
    SomeOf(&'static [Word]),
    /// Names of event types, separated by commas, colons, semicolons or blanks.
    Events,
    /// Names with commas, and wildcards.
    Patterns,
    /// The same; `all` for all, `none` for none.
    PatternsOrAll,
    /// A time such as `500ms`, or 0.
    Time,
    /// A share of the time such as `3%`, or `none`.
    Share,
    /// A size such as `500M`.
    Size,
    /// The same, or 0.
    SizeOrNever,
    /// A number of ranks.
    Ranks,
    /// Ranks such as `0,4-7`.
    RankList,
    /// Control variables with their values and ranks: `NAME=VALUE@RANKS`, with semicolons.
    Assignments,
    /// Plugins with their arguments, with colons.
    Plugins,
    /// The text of policies.
    Policies,
    /// Directories, with colons.
    Directories,
    /// A file or directory.
    Path,
    /// Some of `auto`, `peruse`, `model` and `native`.
    Sources,
    /// Anything.
    Text,
}

impl Kind {
    /// The words that a value may be, or be made of; none where it is no matter of words.
    #[must_use]
    pub fn words(&self) -> &'static [Word] {
        match self {
            Kind::OneOf(words) | Kind::SomeOf(words) => words,
            _ => &[],
        }
    }

    /// What a user is to give, where a value is not understood: `give a size such as 500M or 2G`.
    #[must_use]
    pub fn remedy(&self) -> String {
        let plain = match self {
            Kind::On => "give 1, or 0",
            Kind::Off => "give 0, or 1",
            Kind::OneOf(words) => return format!("give {}", listed(words, "or")),
            Kind::SomeOf([words @ .., none]) => {
                return format!("give some of {}, or {}", listed(words, "and"), none.name);
            }
            Kind::SomeOf([]) | Kind::Text | Kind::Path => "give another value",
            Kind::Events | Kind::Patterns => "give names with commas between them",
            Kind::PatternsOrAll => "give names with commas between them, or all",
            Kind::Time => "give a time such as 500ms or 2s, at least 1ms, or 0",
            Kind::Share => "give a share of the time such as 3%, at most 50%, or none",
            Kind::Size => "give a size such as 500M or 2G",
            Kind::SizeOrNever => "give a size such as 500M or 2G, or 0",
            Kind::Ranks => "give a number of ranks",
            Kind::RankList => "give ranks such as 0,4-7",
            Kind::Assignments => "give NAME=VALUE, or NAME=VALUE@RANKS with ranks such as 0,4-7",
            Kind::Plugins => "give a name, or the path of a shared object, and what it is to get: NAME,a,b=1",
            Kind::Policies => "give a file of policies",
            Kind::Directories => "give directories with colons between them",
            Kind::Sources => "give auto, or some of peruse, model and native",
        };
        plain.into()
    }
}

/// Words as a sentence lists them: `a, b or c`.
fn listed(words: &[Word], last: &str) -> String {
    let names: Vec<&str> = words.iter().map(|word| word.name).collect();
    match names.split_last() {
        Some((end, before)) if !before.is_empty() => format!("{} {last} {end}", before.join(", ")),
        _ => names.concat(),
    }
}

/// What holds where a setting is not set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unset {
    /// The value; empty where no value says it.
    pub value: &'static str,
    /// What is to be said of it, or instead of it.
    pub words: &'static str,
}

impl Unset {
    /// Nothing is said.
    const NONE: Unset = Unset { value: "", words: "" };

    /// A value.
    const fn value(value: &'static str) -> Unset {
        Unset { value, words: "" }
    }

    /// What only words say.
    const fn words(words: &'static str) -> Unset {
        Unset { value: "", words }
    }
}

/// How a setting comes to where it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// `mel run` hands over what its option was given, or the environment has it; the library in the
    /// program reads it.
    AsGiven,
    /// The same, but `mel run` makes the value of what it was given.
    Made,
    /// Only the environment has it; the library in the program reads it.
    Inherited,
    /// Only the environment has it; `mel run` reads it.
    Command,
    /// `mel run` alone sets it, for the library.
    ByRun,
}

impl Setting {
    /// What help says of it first, with the default.
    #[must_use]
    pub fn help(&self) -> String {
        match self.default {
            Unset { value: "", words: "" } => self.short.into(),
            Unset { value, words } => format!("{}. Default: {value}{words}", self.short),
        }
    }

    /// All that help says of it; `None` where that is no more than [`Setting::help`].
    #[must_use]
    pub fn long_help(&self) -> Option<String> {
        let file = self.more.split('#').next().unwrap_or_default();
        let more = if file.is_empty() { String::new() } else { format!("More: docs/{file}") };
        let paragraphs = [self.help(), self.long.into(), more];
        let said: Vec<&str> = paragraphs.iter().map(String::as_str).filter(|text| !text.is_empty()).collect();
        (said.len() > 1).then(|| said.join("\n\n"))
    }
}

/// Its variable.
impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// There is one entry of each name.
impl PartialEq for Setting {
    fn eq(&self, other: &Setting) -> bool {
        self.name == other.name
    }
}

impl Eq for Setting {}

/// Whether this value of a switch turns it on.
#[must_use]
pub fn is_on(value: &str) -> bool {
    !matches!(value, "" | "0")
}

/// The setting with this variable.
#[must_use]
pub fn of_name(name: &str) -> Option<&'static Setting> {
    ALL.iter().copied().find(|setting| setting.name == name)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn each_setting_has_a_name_of_its_own_and_words() {
        let names: HashSet<&str> = ALL.iter().map(|setting| setting.name).collect();
        let options: Vec<&str> =
            ALL.iter().filter_map(|setting| Some(setting.option.as_ref()?.long)).collect();
        assert_eq!((names.len(), options.iter().collect::<HashSet<_>>().len()), (ALL.len(), options.len()));
        for setting in ALL {
            assert!(PREFIXES.iter().any(|prefix| setting.name.starts_with(prefix)), "{setting}");
            assert!(!setting.short.is_empty() && !setting.short.ends_with('.'), "{setting}");
            assert!(setting.long.is_empty() || setting.long.ends_with('.'), "{setting}");
            let is_given = matches!(setting.reach, Reach::AsGiven | Reach::Made);
            assert_eq!(setting.option.is_some(), is_given, "{setting}");
            let takes_none = setting.option.as_ref().is_some_and(|option| option.value.is_empty());
            assert!(!takes_none || setting.kind == Kind::On, "{setting}");
        }
        assert_eq!(of_name("MEL_LIMIT"), Some(&LIMIT));
        assert_eq!(of_name("MEL_NONE"), None);
    }

    #[test]
    fn help_has_parts_that_begin_with_their_settings() {
        assert_eq!(heading(&EVENTS), Some("What is measured"));
        assert_eq!((heading(&TRACE), heading(&CALLSITES)), (Some("Trace"), Some("Trace")));
        assert!(ALL.iter().all(|setting| heading(setting).is_some()));
    }

    #[test]
    fn help_has_the_default_and_the_place_of_more() {
        assert!(EVERY.help().ends_with(". Default: 1s"), "{}", EVERY.help());
        assert!(PROFILE.help().ends_with(". Default: calls,queues"), "{}", PROFILE.help());
        assert_eq!(LINES.help(), LINES.short);
        assert_eq!(LINES.long_help(), None);
        let long = POLICY.long_help().unwrap();
        assert!(long.starts_with(&format!("{}\n\n", POLICY.short)) && long.ends_with("More: docs/tuning.md"));
    }

    #[test]
    fn a_remedy_names_the_words() {
        assert_eq!(MODE.kind.remedy(), "give private, group or all");
        assert_eq!(PROFILE.kind.remedy(), "give some of calls, queues, rma, matrix and net, or none");
        assert_eq!(ENVELOPES.kind.remedy(), "give auto or messages");
    }
}
