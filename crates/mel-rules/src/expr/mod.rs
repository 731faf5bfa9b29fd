//! Expressions over named quantities: `late_receiver_share > 2 % and mpi == 'Open MPI'`.
//!
//! Numbers may have units. Names, their arguments and what is compared with what are checked when an expression is read, so that an
//! evaluation can only find that something was not measured. Nothing is known here of where quantities come from.
//!
//! Grammar, loosest first: `or` (`||`); `and` (`&&`); `not` (`!`); one of `== != < <= > >=`; `+ -`; `* /`; a minus sign; a number with a
//! unit, a text in quotes, `true`, `false`, a quantity with or without an argument in quotes, a function, or parentheses. Of lists,
//! arithmetic and comparisons are by element; a number stands for as many as are needed.

mod check;
mod eval;
mod lexer;
mod names;
mod parser;
mod value;

pub use eval::{NotMeasured, Quantities};
pub use names::Quantity;
pub use value::{Kind, Value};

use std::fmt;

/// Why a text is no expression, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExprError {
    /// The place in the text, in bytes from its beginning.
    pub at: usize,
    /// What is wrong, and what would be right.
    pub message: String,
}

impl ExprError {
    fn new(at: usize, message: impl Into<String>) -> ExprError {
        ExprError { at, message: message.into() }
    }
}

impl fmt::Display for ExprError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at character {}: {}", self.at + 1, self.message)
    }
}

impl std::error::Error for ExprError {}

/// An expression that can be evaluated.
#[derive(Clone, Debug)]
pub struct Expr {
    text: String,
    node: parser::Node,
    kind: Kind,
}

impl Expr {
    /// Reads an expression that may name these quantities.
    ///
    /// # Errors
    /// It is none, it names something else, or it compares what cannot be compared.
    pub fn parse(text: &str, quantities: &[Quantity]) -> Result<Expr, ExprError> {
        let node = parser::parse(text)?;
        let kind = check::kind(&node, quantities)?;
        Ok(Expr { text: text.to_owned(), node, kind })
    }

    /// The same of one that has to be true or false. A list is no condition: `any` and `all` make one of it.
    ///
    /// # Errors
    /// As [`Expr::parse`].
    pub fn condition(text: &str, quantities: &[Quantity]) -> Result<Expr, ExprError> {
        let expr = Expr::parse(text, quantities)?;
        match expr.kind {
            Kind::Switch => Ok(expr),
            Kind::List => Err(ExprError::new(
                0,
                "this is a list, and no condition: any(...) or all(...) makes one of it",
            )),
            other => Err(ExprError::new(
                0,
                format!("this is {}, and no condition: compare it with something", other.name()),
            )),
        }
    }

    /// As it was read.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What kind of value it has.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Its value.
    ///
    /// # Errors
    /// A quantity that is needed was not measured.
    pub fn eval(&self, quantities: &dyn Quantities) -> Result<Value, NotMeasured> {
        eval::eval(&self.node, quantities)
    }

    /// The quantities that it names, with their arguments.
    pub fn quantities(&self) -> Vec<(&str, Option<&str>)> {
        let mut found = Vec::new();
        self.node.visit(&mut |node| {
            if let parser::What::Name { name, argument } = &node.what {
                found.push((name.as_str(), argument.as_deref()));
            }
        });
        found
    }
}

#[cfg(test)]
mod tests;
