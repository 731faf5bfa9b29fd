//! Control variables that the user has set for this run (`MEL_SET`): read back once MPI is initialised, and written where the
//! environment has not done it.

use mel_log::names::nearest_names;
use mel_log::setting::Setting;
use mpi_abi::tool_vars::{self, ToolVar, VarKind};

use crate::warn::warn;

/// At the exit of `MPI_Init*`: sees to it that the variables have their values, and warns where they have not. `tells` where lines
/// that are the same on all ranks are to be told.
pub(crate) fn apply(list: &str, tells: bool) {
    let settings: Vec<Setting> = Setting::split(list).collect();
    if settings.is_empty() {
        return;
    }
    let variables = match variables() {
        Ok(variables) => variables,
        Err(error) => return warn(&format!("control variables are not set: {error}")),
    };
    for setting in settings {
        let outcome = set(&setting, &variables);
        if tells || outcome.is_mine {
            warn(&outcome.line);
        }
    }
}

/// The control variables of the MPI.
pub(crate) fn variables() -> mpi_abi::Result<Vec<ToolVar>> {
    tool_vars::initialise()?;
    let number = tool_vars::number(VarKind::Control)?;
    // Some numbers are those of variables that are gone.
    Ok((0..number).filter_map(|index| tool_vars::describe(VarKind::Control, index).ok()).collect())
}

/// What came of a setting.
pub(crate) struct Outcome {
    pub(crate) line: String,
    /// Whether it is worth a line on each rank.
    pub(crate) is_mine: bool,
}

/// Sets one, and reads it back. Where the program may call MPI.
pub(crate) fn set(setting: &Setting, variables: &[ToolVar]) -> Outcome {
    let all_alike = |line: String| Outcome { line, is_mine: false };
    let Some(variable) = variables.iter().find(|variable| variable.name == setting.name) else {
        let nearest = nearest_names(&setting.name, variables.iter().map(|variable| variable.name.as_str()));
        let hint = if nearest.is_empty() {
            "see `mel vars`".into()
        } else {
            format!("nearest: {}", nearest.join(", "))
        };
        return all_alike(format!("{setting}: this MPI has no such control variable; {hint}"));
    };
    let read = || variable.read().ok().flatten();
    let before = read();
    if before.as_deref().is_some_and(|value| setting.is(value)) {
        return all_alike(effect(setting, variables));
    }
    let is = before.as_deref().unwrap_or("what cannot be read");
    if variable.readonly {
        return all_alike(format!("{setting}: not set, it is {is} and cannot be written once MPI runs"));
    }
    if let Err(error) = variable.write(&setting.value) {
        return all_alike(format!("{setting}: not set, it is {is} ({}): {error}", variable.datatype));
    }
    match read() {
        Some(value) if setting.is(&value) => all_alike(effect(setting, variables)),
        value => {
            let value = value.unwrap_or_default();
            Outcome { line: format!("{setting}: accepted, but it reads back as {value}"), is_mine: true }
        }
    }
}

/// What is known of the effect of a variable that has its value.
fn effect(setting: &Setting, variables: &[ToolVar]) -> String {
    const RULES: &str = "coll_tuned_use_dynamic_rules";
    let is_algorithm = setting.name.starts_with("coll_tuned_") && setting.name.ends_with("_algorithm");
    let rules = variables.iter().find(|variable| variable.name == RULES && is_algorithm);
    let off = rules
        .and_then(|rules| rules.read().ok().flatten())
        .is_some_and(|value| value == "0" || value == "false");
    if off {
        return format!("{setting}: accepted, without effect: give --set {RULES}=1, too");
    }
    format!("{setting}: set (read back)")
}
