//! A rule: when something is so, then advise or set.

use crate::expr::{Expr, NotMeasured, Quantities, Value};
use crate::policy::Policy;
use crate::text::Template;

/// A rule.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Its name.
    pub name: String,
    /// Where it is from: a paper, the source of an MPI, a measurement. Empty where the file does not say.
    pub source: String,
    /// Whether nobody has tried it with the MPI that it is for.
    pub untested: bool,
    /// When it applies.
    pub when: Expr,
    /// What to do then.
    pub then: Then,
}

/// What a rule does.
#[derive(Clone, Debug)]
pub enum Then {
    /// Of a run that is over: say something, and what could be tried.
    Advise {
        /// What was seen, and why something else may be better.
        text: Template,
        /// Settings to try, each of which is several variables at once; the best guess first.
        tries: Vec<Vec<Assignment>>,
    },
    /// While a program runs: set control variables.
    Set {
        /// When the condition holds.
        set: Vec<Assignment>,
        /// When it does not.
        otherwise: Vec<Assignment>,
    },
}

impl Rule {
    /// The policy that it is, if it sets something while a program runs.
    pub fn policy(&self) -> Option<Policy> {
        match &self.then {
            Then::Set { set, otherwise } => Some(Policy {
                name: self.name.clone(),
                when: self.when.clone(),
                set: set.clone(),
                otherwise: otherwise.clone(),
            }),
            Then::Advise { .. } => None,
        }
    }
}

/// A control variable and what it shall be.
#[derive(Clone, Debug)]
pub struct Assignment {
    /// Its name, as MPI has it, or that of an environment variable.
    pub name: String,
    /// Its value.
    pub value: Expr,
}

impl Assignment {
    /// The value as MPI reads it from the environment.
    ///
    /// # Errors
    /// A quantity that it needs was not measured.
    pub fn text(&self, quantities: &dyn Quantities) -> Result<String, NotMeasured> {
        self.value.eval(quantities).map(|value| as_setting(&value))
    }
}

/// A value as MPI reads it: numbers without a unit, whole ones without a point, lists with commas.
pub fn as_setting(value: &Value) -> String {
    let number = |number: f64| match number.fract() == 0.0 && number.abs() < 9e15 {
        true => format!("{number:.0}"),
        false => number.to_string(),
    };
    match value {
        Value::Number(one) => number(*one),
        Value::Text(text) => text.clone(),
        Value::Switch(switch) => u8::from(*switch).to_string(),
        Value::List(list) => list.iter().map(|one| number(*one)).collect::<Vec<_>>().join(","),
    }
}
