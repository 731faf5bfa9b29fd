//! Texts with expressions in braces, which become numbers with their units: `{late_receiver_bytes}` is `15.6 KiB`.

use mel_log::number::{duration, general, size};

use crate::expr::{Expr, ExprError, Kind, NotMeasured, Quantities, Quantity, Value};

/// A text with expressions in it.
#[derive(Clone, Debug)]
pub struct Template(Vec<Part>);

#[derive(Clone, Debug)]
enum Part {
    Plain(String),
    Expr(Expr),
}

impl Template {
    /// Reads one whose expressions may name these quantities. `{{` stands for a brace.
    ///
    /// # Errors
    /// An expression is none, or a brace is missing.
    pub fn parse(text: &str, quantities: &[Quantity]) -> Result<Template, ExprError> {
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut at = 0;
        while let Some(open) = text[at..].find('{') {
            let open = at + open;
            plain.push_str(&text[at..open]);
            let inner = open + 1;
            if text[inner..].starts_with('{') {
                plain.push('{');
                at = inner + 1;
                continue;
            }
            let Some(length) = text[inner..].find('}') else {
                return Err(ExprError {
                    at: open,
                    message: "the { that begins here has no }; {{ stands for a {".into(),
                });
            };
            let expr = Expr::parse(&text[inner..inner + length], quantities)
                .map_err(|error| ExprError { at: inner + error.at, ..error })?;
            parts.push(Part::Plain(std::mem::take(&mut plain)));
            parts.push(Part::Expr(expr));
            at = inner + length + 1;
        }
        plain.push_str(&text[at..]);
        parts.push(Part::Plain(plain));
        Ok(Template(parts))
    }

    /// The text, on one line.
    ///
    /// # Errors
    /// A quantity in it was not measured.
    pub fn fill(&self, quantities: &dyn Quantities) -> Result<String, NotMeasured> {
        let mut text = String::new();
        for part in &self.0 {
            match part {
                Part::Plain(plain) => text += plain,
                Part::Expr(expr) => text += &shown(&expr.eval(quantities)?, expr.kind()),
            }
        }
        Ok(text.split_whitespace().collect::<Vec<_>>().join(" "))
    }
}

/// A value for people.
fn shown(value: &Value, kind: Kind) -> String {
    match (value, kind) {
        (Value::Number(number), Kind::Bytes) => size(*number),
        (Value::Number(number), Kind::Seconds) => duration(*number),
        (Value::Number(number), Kind::Share) if *number >= 0.1 => format!("{:.0} %", number * 100.0),
        (Value::Number(number), Kind::Share) => format!("{:.1} %", number * 100.0),
        (Value::Number(number), _) => general(*number),
        (Value::Text(text), _) => text.clone(),
        (Value::Switch(switch), _) => switch.to_string(),
        (Value::List(list), _) => list.iter().map(|one| general(*one)).collect::<Vec<_>>().join(", "),
    }
}
