//! What rules say of a run.

use mel_log::profile::Profile;

use crate::of_run::OfRun;
use crate::rule::{Rule, Then};

/// What a rule says. It is an expectation: only a run with the setting shows whether it holds.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Advice {
    /// The rule.
    pub rule: String,
    /// Where it is from.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub source: String,
    /// Whether nobody has tried the rule with the MPI that it is for.
    pub untested: bool,
    /// What was seen, and why something else may be better.
    pub text: String,
    /// Settings to try, the best guess first: names of variables and their values.
    pub tries: Vec<Vec<(String, String)>>,
}

/// What all rules say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Advices {
    /// Those that apply.
    pub said: Vec<Advice>,
    /// Rules that could not be judged: their names, and what was not measured.
    pub not_judged: Vec<(String, String)>,
}

/// Asks these rules about a run. Policies say nothing.
pub fn advise<'r>(rules: impl IntoIterator<Item = &'r Rule>, profile: &Profile) -> Advices {
    let quantities = OfRun::new(profile);
    let mut advices = Advices::default();
    for rule in rules {
        let Then::Advise { text, tries } = &rule.then else { continue };
        let said = rule.when.eval(&quantities).and_then(|holds| {
            if holds != crate::expr::Value::Switch(true) {
                return Ok(None);
            }
            let mut settings: Vec<Vec<(String, String)>> = Vec::new();
            for assignments in tries {
                let setting = assignments.iter().map(|one| Ok((one.name.clone(), one.text(&quantities)?)));
                let setting = setting.collect::<Result<_, _>>()?;
                if !settings.contains(&setting) {
                    settings.push(setting);
                }
            }
            let (rule, text) = (rule, text.fill(&quantities)?);
            let (name, source) = (rule.name.clone(), rule.source.clone());
            Ok(Some(Advice { rule: name, source, untested: rule.untested, text, tries: settings }))
        });
        match said {
            Ok(advice) => advices.said.extend(advice),
            Err(error) => advices.not_judged.push((rule.name.clone(), error.to_string())),
        }
    }
    advices
}
