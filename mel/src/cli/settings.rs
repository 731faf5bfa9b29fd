//! The options of `mel run` have the words of the catalogue of settings: help, manual and completions come from one place.

use std::ffi::{OsStr, OsString};

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, value_parser};
use mel_log::settings::{ALL, Flag, Kind, Reach, Setting, heading, is_understood};

/// The setting of an option.
fn of_option(long: &str) -> Option<&'static Setting> {
    ALL.iter().copied().find(|setting| setting.option.as_ref().is_some_and(|option| option.long == long))
}

/// An option with what the catalogue says of it: its words, its letter, what stands for its value, which other one it needs. An option
/// without a setting stays as it is.
pub(super) fn described(arg: Arg) -> Arg {
    let setting = arg.get_long().and_then(of_option);
    let Some((setting, option)) = setting.and_then(|setting| Some((setting, setting.option.as_ref()?)))
    else {
        return arg;
    };
    let arg = match setting.long_help() {
        Some(long) => arg.help(setting.help()).long_help(long),
        None => arg.help(setting.help()),
    };
    let takes_value = !option.value.is_empty() && !matches!(arg.get_action(), ArgAction::SetTrue);
    let arg = if takes_value { arg.value_name(option.value) } else { arg };
    // Help has the order of the catalogue.
    let place = ALL.iter().position(|known| *known == setting).unwrap_or(ALL.len());
    let arg = arg.display_order(place).help_heading(heading(setting));
    let arg = match option.short {
        Some(letter) => arg.short(letter),
        None => arg,
    };
    match option.needs.and_then(|needed| needed.option.as_ref()) {
        // What is needed has one word, by which clap knows it, too.
        Some(needed) => arg.requires(needed.long),
        None => arg,
    }
}

/// What was given for the settings that are handed over as they are given: by an option each, of which the catalogue says all.
#[derive(Clone, Debug, Default)]
pub struct Given(Vec<(&'static Setting, OsString)>);

impl Given {
    /// What was given for a setting.
    pub fn of(&self, setting: &Setting) -> Option<&OsStr> {
        self.0.iter().find(|(known, _)| *known == setting).map(|(_, value)| value.as_os_str())
    }

    /// Whether a setting was given.
    pub fn has(&self, setting: &Setting) -> bool {
        self.of(setting).is_some()
    }

    /// The variables and their values, in the order of the catalogue.
    pub fn variables(&self) -> impl Iterator<Item = (&'static str, OsString)> + '_ {
        self.0.iter().map(|(setting, value)| (setting.name, value.clone()))
    }
}

/// The settings that are handed over as they are given, with their options.
fn handed_over() -> impl Iterator<Item = (&'static Setting, &'static Flag)> {
    let as_given = ALL.iter().copied().filter(|setting| setting.reach == Reach::AsGiven);
    as_given.filter_map(|setting| Some((setting, setting.option.as_ref()?)))
}

impl Args for Given {
    fn augment_args(command: Command) -> Command {
        command.args(handed_over().map(|(setting, option)| {
            let arg = Arg::new(option.long).long(option.long);
            match option.value {
                "" => arg.action(ArgAction::SetTrue),
                _ if setting.kind == Kind::Path => arg.value_parser(value_parser!(OsString)),
                _ => arg.value_parser(understood(setting)),
            }
        }))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Given::augment_args(command)
    }
}

impl FromArgMatches for Given {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Given, clap::Error> {
        let value = |setting: &'static Setting, option: &Flag| match option.value {
            "" => matches.get_flag(option.long).then(|| "1".into()),
            _ if setting.kind == Kind::Path => matches.get_one::<OsString>(option.long).cloned(),
            _ => matches.get_one::<String>(option.long).map(OsString::from),
        };
        let given = handed_over().filter_map(|(setting, option)| Some((setting, value(setting, option)?)));
        Ok(Given(given.collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Given::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The parser of the values of a setting's option, which the library in the program reads again: what it would not understand is an
/// error with the same remedy.
fn understood(setting: &'static Setting) -> impl Fn(&str) -> Result<String, String> + Clone {
    move |value| match is_understood(setting.kind, value) {
        true => Ok(value.to_owned()),
        false => Err(setting.kind.remedy()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn mel_run_has_the_options_of_the_catalogue_and_one_of_its_own() {
        let mut command = Cli::command();
        command.build();
        let run = command.find_subcommand("run").unwrap();
        let options: BTreeSet<&str> = run.get_arguments().filter_map(Arg::get_long).collect();
        let settings: BTreeSet<&str> =
            ALL.iter().filter_map(|setting| Some(setting.option.as_ref()?.long)).collect();
        let missing: Vec<&&str> = settings.difference(&options).collect();
        assert!(missing.is_empty(), "{missing:?}");
        let without: Vec<&str> = options.difference(&settings).copied().collect();
        assert_eq!(without, ["help", "no-strict"]);
        for arg in run.get_arguments().filter(|arg| arg.get_long() != Some("help")) {
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            assert!(!help.is_empty(), "{arg:?}");
            if let Some(setting) = arg.get_long().and_then(of_option) {
                assert!(help.starts_with(setting.short), "{help}");
                let takes_several = matches!(arg.get_action(), ArgAction::Append);
                assert_eq!(takes_several, setting.option.as_ref().unwrap().repeats, "{}", setting.name);
            }
        }
    }
}
