//! Control variables that plugins set while the program runs: those of the MPI and those of MEL.

use mel_log::control::Verdict;
use mel_log::setting::Setting as Wanted;

use super::shared::Setting;
use super::teller::Outcome;
use crate::settings;

/// Sets a variable and reads it back. In a hook, where the program may call MPI.
pub(super) fn set(setting: &Setting) -> Outcome {
    let (verdict, line) = match wanted(setting) {
        Some(wanted) => {
            let outcome = settings::set(&wanted);
            (outcome.verdict, outcome.text)
        }
        None => (Verdict::Refused, "not set: that is no name and value of a control variable".to_owned()),
    };
    let has_value = matches!(verdict, Verdict::Set | Verdict::WithoutEffect);
    let (name, value) = (setting.name.clone(), setting.value.clone());
    let read_back = if has_value { value.clone() } else { String::new() };
    Outcome { name, value, read_back, has_value, line }
}

/// As users write it, where that is the same.
fn wanted(setting: &Setting) -> Option<Wanted> {
    let wanted: Wanted = format!("{}={}", setting.name, setting.value).parse().ok()?;
    (wanted.name == setting.name && wanted.value == setting.value).then_some(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_taken_as_it_is_or_not_at_all() {
        let of = |name: &str, value: &str| {
            wanted(&Setting { plugin: 0, name: name.into(), value: value.into() }).map(|wanted| wanted.value)
        };
        assert_eq!(of("a", "me@there"), Some("me@there".into()));
        assert_eq!(of("a", "1,2"), Some("1,2".into()));
        // A value for some ranks only, several settings, no name.
        assert_eq!((of("a", "1@0"), of("a", "1;b=2"), of("", "1"), of("a=1", "2")), (None, None, None, None));
    }
}
