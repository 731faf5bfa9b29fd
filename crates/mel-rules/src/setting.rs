//! Settings that a rule computes: the name of a control variable, and an expression for its value.

use crate::expr::{Expr, NotMeasured, Quantities, Value};

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
