//! The options of `mel run` have the words of the catalogue of settings: help, manual and completions come from one place.

use clap::{Arg, ArgAction};
use mel_log::settings::{ALL, Setting, is_understood};

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

/// The parser of the values of a setting's option, which the library in the program reads again: what it would not understand is an
/// error with the same remedy.
pub(super) fn understood(setting: &'static Setting) -> impl Fn(&str) -> Result<String, String> + Clone {
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
