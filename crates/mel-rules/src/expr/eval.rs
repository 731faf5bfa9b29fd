//! The value of an expression. Kinds were checked before.

use std::fmt;

use super::names::Builtin;
use super::parser::{Node, Operator, What};
use super::value::Value;

/// Where the values of quantities come from.
pub trait Quantities {
    /// The value of a quantity, of what is in its parentheses; none where it was not measured.
    fn get(&self, name: &str, argument: Option<&str>) -> Option<Value>;
}

/// A quantity has no value here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotMeasured {
    /// Its name, with its argument.
    pub quantity: String,
}

impl fmt::Display for NotMeasured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} was not measured", self.quantity)
    }
}

impl std::error::Error for NotMeasured {}

pub(super) fn eval(node: &Node, quantities: &dyn Quantities) -> Result<Value, NotMeasured> {
    let of = |node: &Node| eval(node, quantities);
    Ok(match &node.what {
        What::Number(number, _) => Value::Number(*number),
        What::Text(text) => Value::Text(text.clone()),
        What::Switch(switch) => Value::Switch(*switch),
        What::Name { name, argument } => {
            return quantities.get(name, argument.as_deref()).ok_or_else(|| NotMeasured {
                quantity: match argument {
                    Some(argument) => format!("{name}('{argument}')"),
                    None => name.clone(),
                },
            });
        }
        What::Not(inner) => Value::Switch(!is_true(&of(inner)?)),
        What::Minus(inner) => match of(inner)? {
            Value::List(list) => Value::List(list.into_iter().map(|number| -number).collect()),
            value => Value::Number(-number(&value)),
        },
        // What decides already is enough: the other side need not have been measured.
        What::Two(Operator::And, both) => Value::Switch(is_true(&of(&both.0)?) && is_true(&of(&both.1)?)),
        What::Two(Operator::Or, both) => Value::Switch(is_true(&of(&both.0)?) || is_true(&of(&both.1)?)),
        What::Two(operator, both) => two(*operator, of(&both.0)?, of(&both.1)?),
        What::Call(builtin, values) => {
            let values = values.iter().map(of).collect::<Result<Vec<_>, _>>()?;
            call(*builtin, values)
        }
    })
}

fn is_true(value: &Value) -> bool {
    match value {
        Value::Switch(switch) => *switch,
        Value::Number(number) => *number != 0.0,
        Value::Text(_) | Value::List(_) => false,
    }
}

fn number(value: &Value) -> f64 {
    match value {
        Value::Number(number) => *number,
        Value::Switch(switch) => f64::from(u8::from(*switch)),
        Value::Text(_) | Value::List(_) => f64::NAN,
    }
}

fn two(operator: Operator, left: Value, right: Value) -> Value {
    match (&left, &right) {
        (Value::Text(left), Value::Text(right)) => {
            Value::Switch((left == right) == (operator == Operator::Equal))
        }
        // Of lists of different lengths the longer one's rest has nothing beside it: not a number, for which no comparison holds.
        (Value::List(a), Value::List(b)) => {
            let at = |list: &[f64], place| list.get(place).copied().unwrap_or(f64::NAN);
            let places = 0..a.len().max(b.len());
            Value::List(places.map(|place| pair(operator, at(a, place), at(b, place))).collect())
        }
        (Value::List(list), other) => {
            let other = number(other);
            Value::List(list.iter().map(|one| pair(operator, *one, other)).collect())
        }
        (other, Value::List(list)) => {
            let other = number(other);
            Value::List(list.iter().map(|one| pair(operator, other, *one)).collect())
        }
        _ => {
            let result = pair(operator, number(&left), number(&right));
            match operator {
                Operator::Plus | Operator::Minus | Operator::Times | Operator::Over => Value::Number(result),
                _ => Value::Switch(result != 0.0),
            }
        }
    }
}

/// Of two numbers; a comparison that holds is 1.
fn pair(operator: Operator, left: f64, right: f64) -> f64 {
    let holds = |yes: bool| f64::from(u8::from(yes));
    match operator {
        Operator::Plus => left + right,
        Operator::Minus => left - right,
        Operator::Times => left * right,
        Operator::Over => left / right,
        Operator::Equal => holds(left == right),
        Operator::NotEqual => holds(left != right),
        Operator::Less => holds(left < right),
        Operator::LessOrEqual => holds(left <= right),
        Operator::Greater => holds(left > right),
        Operator::GreaterOrEqual => holds(left >= right),
        Operator::And => holds(left != 0.0 && right != 0.0),
        Operator::Or => holds(left != 0.0 || right != 0.0),
    }
}

fn call(builtin: Builtin, values: Vec<Value>) -> Value {
    let all = || -> Vec<f64> {
        let of = |value: &Value| match value {
            Value::List(list) => list.clone(),
            other => vec![number(other)],
        };
        values.iter().flat_map(of).collect()
    };
    match builtin {
        Builtin::Any => Value::Switch(all().iter().any(|one| *one != 0.0 && !one.is_nan())),
        Builtin::All => Value::Switch(all().iter().all(|one| *one != 0.0 && !one.is_nan())),
        Builtin::Sum => Value::Number(all().iter().sum()),
        Builtin::Min => Value::Number(all().into_iter().fold(f64::NAN, f64::min)),
        Builtin::Max => Value::Number(all().into_iter().fold(f64::NAN, f64::max)),
        Builtin::RoundUp => {
            let all = all();
            let (of, to) =
                (all.first().copied().unwrap_or(f64::NAN), all.get(1).copied().unwrap_or(f64::NAN));
            Value::Number((of / to).ceil() * to)
        }
    }
}
