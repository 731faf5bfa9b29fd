//! Control variables of the MPI that plugins set while the program runs.

use mel_log::setting::Setting as Wanted;
use mpi_abi::tool_vars::{self, ToolVar, VarKind};

use super::shared::Setting;
use super::teller::Outcome;

/// Knows the control variables, once one is to be set. Used by one thread at a time.
#[derive(Debug, Default)]
pub(super) struct Controls {
    known: Option<Result<Vec<ToolVar>, String>>,
}

impl Controls {
    /// Sets a variable and reads it back. Where the program may call MPI.
    pub(super) fn set(&mut self, setting: &Setting) -> Outcome {
        let outcome = |line: String| Outcome {
            name: setting.name.clone(),
            value: setting.value.clone(),
            line,
            ..Outcome::default()
        };
        let variables = match self.known.get_or_insert_with(all) {
            Ok(variables) => variables,
            Err(error) => return outcome(format!("not set: {error}")),
        };
        let Some(variable) = variables.iter().find(|variable| variable.name == setting.name) else {
            return outcome("not set: this MPI has no such control variable; see `mel vars`".into());
        };
        if variable.readonly {
            return outcome("not set: it cannot be written once MPI runs".into());
        }
        if let Err(error) = variable.write(&setting.value) {
            return outcome(format!("not set ({}): {error}", variable.datatype));
        }
        let read_back = variable.read().ok().flatten();
        let has_value = read_back.as_deref().is_some_and(|read| is(setting, read));
        let line = match &read_back {
            Some(_) if has_value => "set (read back)".to_owned(),
            Some(read) => format!("accepted, but it reads back as {read}"),
            None => "accepted, and cannot be read back".to_owned(),
        };
        Outcome { read_back: read_back.unwrap_or_default(), has_value, ..outcome(line) }
    }
}

/// Whether a value that was read is the one that was wanted. A switch may be written as a word.
fn is(setting: &Setting, read: &str) -> bool {
    let Setting { name, value, .. } = setting;
    let wanted: Option<Wanted> = format!("{name}={value}").parse().ok();
    value == read || wanted.is_some_and(|wanted| wanted.value == *value && wanted.is(read))
}

fn all() -> Result<Vec<ToolVar>, String> {
    tool_vars::initialise().map_err(|error| error.to_string())?;
    let number = tool_vars::number(VarKind::Control).map_err(|error| error.to_string())?;
    // Some numbers are those of variables that are gone.
    Ok((0..number).filter_map(|index| tool_vars::describe(VarKind::Control, index).ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_the_one_that_was_wanted() {
        let of = |value: &str| Setting { plugin: 0, name: "a".into(), value: value.into() };
        assert!(is(&of("true"), "1") && is(&of("4096"), "4096") && is(&of("me@7"), "me@7"));
        assert!(!is(&of("4096"), "4095") && !is(&of("1@0"), "1"));
    }
}
