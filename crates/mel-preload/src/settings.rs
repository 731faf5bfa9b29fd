//! Control variables that the user sets, those of the MPI and those of MEL: for the run (`MEL_SET`), where they are read back once MPI is
//! initialised and written where the environment has not done it; and while it goes on.

use std::cell::Cell;
use std::sync::{Mutex, PoisonError};

use mel_log::control::{Outcome, Verdict};
use mel_log::names::nearest_names;
use mel_log::setting::Setting;
use mpi_abi::tool_vars::{self, ToolVar, VarKind};
use mpit_vars::Error;
use mpit_vars::control::Domain;
use mpit_vars::controls::{Entry, controls};
use mpit_vars::own::Own;

use crate::warn;

thread_local! {
    /// Whether this thread is in a hook of MEL.
    static IN_HOOK: Cell<bool> = const { Cell::new(false) };
}

/// Runs `f`, which sets variables, in a hook: there the program may call MPI.
fn in_hook<R>(f: impl FnOnce() -> R) -> R {
    struct Leave;
    impl Drop for Leave {
        fn drop(&mut self) {
            IN_HOOK.set(false);
        }
    }
    IN_HOOK.set(true);
    let _leave = Leave;
    f()
}

/// Whether this thread sets a variable in a hook just now.
pub(crate) fn is_in_hook() -> bool {
    IN_HOOK.get()
}

/// Whose variables are set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    Mpi,
    Mel,
}

impl Whose {
    fn of(name: &str) -> Whose {
        if Own::names().any(|own| own == name) { Whose::Mel } else { Whose::Mpi }
    }
}

/// In a hook, at the exit of `MPI_Init*`: sees to it that these variables have their values, and warns where they have not. `tells` where
/// lines that are the same on all ranks are to be told.
pub(crate) fn apply(list: &str, whose: Whose, tells: bool) {
    for setting in Setting::split(list).filter(|setting| Whose::of(&setting.name) == whose) {
        let outcome = set(&setting);
        if tells || outcome.verdict == Verdict::Otherwise {
            warn(&format!("{setting}: {}", outcome.text));
        }
    }
}

/// Sets a variable. In a hook, where the program may call MPI.
pub(crate) fn set(setting: &Setting) -> Outcome {
    let (verdict, text) = match controls().of_name(setting.name.as_bytes()) {
        Ok(entry) => in_hook(|| set_own(setting, &entry)),
        Err(_) => set_of_mpi(setting),
    };
    Outcome { setting: setting.to_string(), verdict, text }
}

type Told = (Verdict, String);

/// Sets a variable of MEL.
fn set_own(setting: &Setting, entry: &Entry) -> Told {
    let (domain, is) = (entry.description.domain, entry.read().to_string());
    let is = if is.is_empty() { "empty" } else { &is };
    let out_of_range = || (Verdict::Refused, format!("refused, it is {is}: it may be {}", domain.allowed()));
    if !entry.description.scope.is_writable() {
        return (
            Verdict::ReadOnly,
            format!("not set, it is {is} and cannot be written while the run goes on"),
        );
    }
    let Some(contents) = domain.parse(&setting.value) else { return out_of_range() };
    match entry.write(&contents) {
        Ok(()) if entry.read() == contents => (Verdict::Set, "set (read back)".into()),
        Ok(()) => (Verdict::Otherwise, format!("accepted, but it reads back as {}", entry.read())),
        Err(Error::OutOfRange) if matches!(domain, Domain::Text(_)) => {
            (Verdict::Refused, format!("refused, it is {is}: this is no list of names with * and ?"))
        }
        Err(Error::OutOfRange) => out_of_range(),
        Err(_) => (Verdict::Refused, format!("not set, it is {is}: {}", why_not_now(&setting.name))),
    }
}

/// Why a variable cannot be set at this time, in a few words.
fn why_not_now(name: &str) -> &'static str {
    match name {
        "mel_sampling_interval" => "no variables are sampled: mel run --vars",
        "mel_event_log_limit" => "there is no event log, or it was full",
        "mel_only_calls" | "mel_no_calls" => "there is no trace, or several threads call MPI at once",
        _ => "nothing is measured now",
    }
}

/// The control variables of the MPI, as they were when they were asked for last.
static KNOWN: Mutex<Vec<ToolVar>> = Mutex::new(Vec::new());

/// Lets `user` have the variables of the MPI.
fn with_variables<R>(user: impl FnOnce(&[ToolVar]) -> R) -> mpi_abi::Result<R> {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if known.is_empty() {
        tool_vars::initialise()?;
    }
    // Some numbers are those of variables that are gone.
    let (number, from) =
        (tool_vars::number(VarKind::Control)?, known.last().map_or(0, |last| last.index + 1));
    known.extend((from..number).filter_map(|index| tool_vars::describe(VarKind::Control, index).ok()));
    Ok(user(&known))
}

fn set_of_mpi(setting: &Setting) -> Told {
    match with_variables(|variables| set_among(setting, variables)) {
        Ok(told) => told,
        Err(error) => (Verdict::Refused, format!("not set: {error}")),
    }
}

fn set_among(setting: &Setting, variables: &[ToolVar]) -> Told {
    let Some(variable) = variables.iter().find(|variable| variable.name == setting.name) else {
        let is_in_environment = std::env::var(setting.environment()).is_ok_and(|set| set == setting.value);
        match (setting.is_below(), is_in_environment) {
            (true, true) => {
                let text = "set in the environment (read back there): no MPI says whether it has an effect";
                return (Verdict::Set, text.into());
            }
            (true, false) => {
                return (Verdict::Refused, "not set: it is read when the program starts".into());
            }
            (false, _) => {}
        }
        let names = variables.iter().map(|variable| variable.name.as_str());
        let mut known: Vec<(String, &str)> = names.map(|name| (name.to_lowercase(), name)).collect();
        for own in Own::names() {
            known.push((own.to_owned(), own));
        }
        let nearest: Vec<&str> = nearest_names(&setting.name, known.iter().map(|(lower, _)| lower.as_str()))
            .into_iter()
            .filter_map(|near| known.iter().find(|(lower, _)| lower == near).map(|(_, name)| *name))
            .collect();
        let hint = if nearest.is_empty() {
            "see `mel vars`".into()
        } else {
            format!("nearest: {}", nearest.join(", "))
        };
        let text = match is_in_environment {
            true => {
                "set in the environment, but after MPI_Init this MPI has no such control variable, or no more"
            }
            false => "this MPI has no such control variable",
        };
        return (Verdict::Unknown, format!("{text}; {hint}"));
    };
    let read = || variable.read().ok().flatten();
    let before = read();
    let items = variable.items();
    let wanted = number_of(&setting.value, &items);
    let is_wanted = |value: &str| setting.is(value) || wanted.as_deref() == Some(value);
    if before.as_deref().is_some_and(is_wanted) {
        return effect(setting, variables);
    }
    let is = before.as_deref().unwrap_or("what cannot be read");
    if variable.readonly {
        return (Verdict::ReadOnly, format!("not set, it is {is} and cannot be written once MPI runs"));
    }
    let algorithms = variable.algorithms();
    let number = setting.value.parse::<usize>().ok();
    if let (Some(count), Some(number)) = (algorithms, number)
        && number >= count
    {
        return (Verdict::Refused, format!("refused, it is {is}: it may be from 0 to {}", count - 1));
    }
    // MPICH takes names of algorithms from the environment, and has numbers for them.
    if algorithms.is_some()
        && number.is_none()
        && std::env::var(setting.environment()).is_ok_and(|set| set == setting.value)
    {
        return (Verdict::Set, format!("set in the environment; it reads back as number {is}"));
    }
    if let Err(error) = variable.write(wanted.as_deref().unwrap_or(&setting.value)) {
        let allowed: Vec<String> = items.iter().map(|(value, name)| format!("{value} ({name})")).collect();
        let allowed =
            if allowed.is_empty() { String::new() } else { format!("; it may be {}", allowed.join(", ")) };
        let text = format!("not set, it is {is} ({}): {error}{allowed}", variable.datatype);
        return (Verdict::Refused, text);
    }
    match read() {
        Some(value) if is_wanted(&value) => effect(setting, variables),
        value => {
            let value = value.unwrap_or_default();
            (Verdict::Otherwise, format!("accepted, but it reads back as {value}"))
        }
    }
}

/// The number of the item of this name, as text, where there is one.
fn number_of(value: &str, items: &[(i32, String)]) -> Option<String> {
    let item = items.iter().find(|(_, name)| name.eq_ignore_ascii_case(value))?;
    Some(item.0.to_string())
}

/// What is known of the effect of a variable that has its value.
fn effect(setting: &Setting, variables: &[ToolVar]) -> Told {
    const RULES: &str = "coll_tuned_use_dynamic_rules";
    let is_algorithm = setting.name.starts_with("coll_tuned_") && setting.name.ends_with("_algorithm");
    let rules = variables.iter().find(|variable| variable.name == RULES && is_algorithm);
    let off = rules
        .and_then(|rules| rules.read().ok().flatten())
        .is_some_and(|value| value == "0" || value == "false");
    if off {
        return (Verdict::WithoutEffect, format!("accepted, without effect: give --set {RULES}=1, too"));
    }
    (Verdict::Set, "set (read back)".into())
}
