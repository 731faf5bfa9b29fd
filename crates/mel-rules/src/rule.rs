//! A rule: when something is so, then advise or set.

use crate::expr::Expr;
use crate::policy::Policy;
use crate::setting::Assignment;
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
