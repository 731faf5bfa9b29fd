//! What kind of value an expression has, before it has one: names are known, and what is compared can be.

use super::ExprError;
use super::names::{Builtin, Quantity, nearest};
use super::parser::{Node, Operator, What};
use super::value::Kind;

pub(super) fn kind(node: &Node, quantities: &[Quantity]) -> Result<Kind, ExprError> {
    let of = |node: &Node| kind(node, quantities);
    match &node.what {
        What::Number(_, kind) => Ok(*kind),
        What::Text(_) => Ok(Kind::Text),
        What::Switch(_) => Ok(Kind::Switch),
        What::Name { name, argument } => of_name(node.at, name, argument.as_deref(), quantities),
        What::Not(inner) => match of(inner)? {
            Kind::Switch => Ok(Kind::Switch),
            other => {
                Err(ExprError::new(node.at, format!("not needs true or false, and this is {}", other.name())))
            }
        },
        What::Minus(inner) => match of(inner)? {
            kind if kind.is_number() || kind == Kind::List => Ok(kind),
            other => Err(ExprError::new(node.at, format!("{} has no negative", other.name()))),
        },
        What::Two(operator, both) => {
            let (left, right) = (of(&both.0)?, of(&both.1)?);
            of_two(*operator, left, right).ok_or_else(|| {
                let signs = (left.name(), operator.sign(), right.name());
                ExprError::new(node.at, format!("{} {} {} cannot be", signs.0, signs.1, signs.2))
            })
        }
        What::Call(builtin, values) => {
            let kinds = values.iter().map(of).collect::<Result<Vec<_>, _>>()?;
            of_call(*builtin, &kinds).map_err(|message| ExprError::new(node.at, message))
        }
    }
}

fn of_name(at: usize, name: &str, argument: Option<&str>, known: &[Quantity]) -> Result<Kind, ExprError> {
    let Some(quantity) = known.iter().find(|quantity| quantity.name == name) else {
        let names = known.iter().map(|quantity| quantity.name);
        let near = nearest(name, names.chain(Builtin::ALL.iter().map(|(name, _)| *name)));
        let hint = match near.is_empty() {
            true => {
                let all: Vec<&str> = known.iter().map(|quantity| quantity.name).collect();
                format!("known are {}; texts stand in quotes", all.join(", "))
            }
            false => format!("nearest: {}", near.join(", ")),
        };
        return Err(ExprError::new(at, format!("there is no quantity {name}; {hint}")));
    };
    match (quantity.of, argument) {
        (Some(_), Some(_)) | (None, None) => Ok(quantity.kind),
        (Some(of), None) => {
            Err(ExprError::new(at, format!("{name} needs {of} in parentheses, as in {name}('NAME')")))
        }
        (None, Some(_)) => Err(ExprError::new(at, format!("{name} takes nothing in parentheses"))),
    }
}

fn of_two(operator: Operator, left: Kind, right: Kind) -> Option<Kind> {
    let lists = left == Kind::List || right == Kind::List;
    let numbers = |kind: Kind| kind.is_number() || kind == Kind::List;
    let both = numbers(left) && numbers(right);
    let fit = left.fits(right) || (lists && both);
    match operator {
        Operator::Or | Operator::And => {
            (left == Kind::Switch && right == Kind::Switch).then_some(Kind::Switch)
        }
        Operator::Equal | Operator::NotEqual => fit.then_some(if lists { Kind::List } else { Kind::Switch }),
        Operator::Less | Operator::LessOrEqual | Operator::Greater | Operator::GreaterOrEqual => {
            (fit && both).then_some(if lists { Kind::List } else { Kind::Switch })
        }
        Operator::Plus | Operator::Minus => (fit && both).then_some(match (lists, left) {
            (true, _) => Kind::List,
            (false, Kind::Number) => right,
            (false, left) => left,
        }),
        Operator::Times => both.then_some(match (lists, left, right) {
            (true, ..) => Kind::List,
            (false, Kind::Number | Kind::Share, other) | (false, other, Kind::Number | Kind::Share) => other,
            (false, ..) => Kind::Number,
        }),
        Operator::Over => both.then_some(match (lists, left, right) {
            (true, ..) => Kind::List,
            (false, left, Kind::Number) => left,
            (false, ..) => Kind::Number,
        }),
    }
}

fn of_call(builtin: Builtin, kinds: &[Kind]) -> Result<Kind, String> {
    let name = Builtin::ALL.iter().find(|(_, known)| *known == builtin).map_or("", |(name, _)| name);
    let number = |kind: &Kind| kind.is_number() || *kind == Kind::List;
    match (builtin, kinds) {
        (Builtin::Any | Builtin::All, [Kind::List]) => Ok(Kind::Switch),
        (Builtin::Sum, [Kind::List]) => Ok(Kind::Number),
        (Builtin::Any | Builtin::All | Builtin::Sum, _) => Err(format!("{name} takes one list")),
        (Builtin::RoundUp, [of, to]) if of.is_number() && to.is_number() && of.fits(*to) => {
            Ok(if *of == Kind::Number { *to } else { *of })
        }
        (Builtin::RoundUp, _) => Err("round_up takes a number and what it shall be a multiple of".into()),
        (Builtin::Min | Builtin::Max, kinds) => {
            if !kinds.iter().all(number) {
                return Err(format!("{name} takes numbers and lists"));
            }
            let mut all = kinds.iter().filter(|kind| kind.is_number());
            let kind = all.clone().find(|kind| **kind != Kind::Number).or(all.next()).copied();
            let kind = kind.unwrap_or(Kind::Number);
            match kinds.iter().filter(|of| of.is_number()).all(|of| of.fits(kind)) {
                true => Ok(kind),
                false => Err(format!("{name} cannot choose between bytes, times and shares")),
            }
        }
    }
}
