//! From words to a tree.

use super::ExprError;
use super::lexer::{Word, words};
use super::names::Builtin;
use super::value::Kind;

/// Trees that are deeper are refused, so that no stack is too small for one.
const DEEPEST: usize = 64;

/// A part of an expression, and where it begins.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) at: usize,
    pub(super) what: What,
}

#[derive(Clone, Debug)]
pub(super) enum What {
    Number(f64, Kind),
    Text(String),
    Switch(bool),
    /// A quantity.
    Name {
        name: String,
        argument: Option<String>,
    },
    Not(Box<Node>),
    Minus(Box<Node>),
    Two(Operator, Box<(Node, Node)>),
    Call(Builtin, Vec<Node>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Plus,
    Minus,
    Times,
    Over,
}

/// How tightly operators bind, loosest first.
const LEVELS: [&[(&str, Operator)]; 5] = [
    &[("or", Operator::Or), ("||", Operator::Or)],
    &[("and", Operator::And), ("&&", Operator::And)],
    &[
        ("==", Operator::Equal),
        ("!=", Operator::NotEqual),
        ("<", Operator::Less),
        ("<=", Operator::LessOrEqual),
        (">", Operator::Greater),
        (">=", Operator::GreaterOrEqual),
    ],
    &[("+", Operator::Plus), ("-", Operator::Minus)],
    &[("*", Operator::Times), ("/", Operator::Over)],
];
const COMPARISON: usize = 2;

impl Operator {
    /// Its sign.
    pub(super) fn sign(self) -> &'static str {
        LEVELS
            .iter()
            .flat_map(|level| level.iter())
            .find(|(_, known)| *known == self)
            .map_or("", |(sign, _)| sign)
    }
}

impl Node {
    /// Shows this part and all parts of it.
    pub(super) fn visit<'a>(&'a self, see: &mut impl FnMut(&'a Node)) {
        see(self);
        match &self.what {
            What::Not(of) | What::Minus(of) => of.visit(see),
            What::Two(_, both) => {
                both.0.visit(see);
                both.1.visit(see);
            }
            What::Call(_, all) => all.iter().for_each(|one| one.visit(see)),
            What::Number(..) | What::Text(_) | What::Switch(_) | What::Name { .. } => {}
        }
    }
}

pub(super) fn parse(text: &str) -> Result<Node, ExprError> {
    let mut parser = Parser { words: words(text)?, next: 0, end: text.trim_end().len(), depth: 0 };
    let node = parser.level(0)?;
    match parser.peek() {
        None => Ok(node),
        Some(word) => {
            let message = format!("{} is not expected here: the expression is over before it", show(word));
            Err(ExprError::new(parser.place(), message))
        }
    }
}

struct Parser {
    words: Vec<(usize, Word)>,
    next: usize,
    end: usize,
    depth: usize,
}

fn show(word: &Word) -> String {
    match word {
        Word::Number(number, _) => number.to_string(),
        Word::Name(name) => name.clone(),
        Word::Text(text) => format!("'{text}'"),
        Word::Sign(sign) => (*sign).to_owned(),
    }
}

impl Parser {
    fn peek(&self) -> Option<&Word> {
        self.words.get(self.next).map(|(_, word)| word)
    }

    fn place(&self) -> usize {
        self.words.get(self.next).map_or(self.end, |(at, _)| *at)
    }

    fn takes(&mut self, sign: &str) -> bool {
        let is_it = match self.peek() {
            Some(Word::Sign(found)) => *found == sign,
            Some(Word::Name(name)) => name == sign,
            _ => false,
        };
        self.next += usize::from(is_it);
        is_it
    }

    fn needs(&mut self, sign: &str) -> Result<(), ExprError> {
        if self.takes(sign) {
            return Ok(());
        }
        let found = self.peek().map_or("the end".to_owned(), show);
        Err(ExprError::new(self.place(), format!("a {sign} is missing before {found}")))
    }

    fn deeper<R>(&mut self, parse: impl FnOnce(&mut Self) -> Result<R, ExprError>) -> Result<R, ExprError> {
        if self.depth == DEEPEST {
            return Err(ExprError::new(self.place(), "the expression is nested too deeply"));
        }
        self.depth += 1;
        let result = parse(self);
        self.depth -= 1;
        result
    }

    fn level(&mut self, level: usize) -> Result<Node, ExprError> {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        if level == COMPARISON && (self.takes("not") || self.takes("!")) {
            let at = self.words[self.next - 1].0;
            let of = self.deeper(|parser| parser.level(COMPARISON))?;
            return Ok(Node { at, what: What::Not(Box::new(of)) });
        }
        let mut left = self.level(level + 1)?;
        let mut length = 0;
        while let Some((_, operator)) = operators.iter().find(|(sign, _)| self.takes(sign)) {
            let at = self.words[self.next - 1].0;
            length += 1;
            if level == COMPARISON && length > 1 {
                return Err(ExprError::new(at, "only two are compared at a time: join comparisons with and"));
            }
            if length > DEEPEST {
                return Err(ExprError::new(at, "the expression is too long"));
            }
            let right = self.level(level + 1)?;
            left = Node { at, what: What::Two(*operator, Box::new((left, right))) };
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Node, ExprError> {
        let at = self.place();
        if self.takes("-") {
            let of = self.deeper(Parser::unary)?;
            return Ok(Node { at, what: What::Minus(Box::new(of)) });
        }
        let Some((_, word)) = self.words.get(self.next).cloned() else {
            return Err(ExprError::new(at, "a value is missing at the end"));
        };
        self.next += 1;
        let what = match word {
            Word::Number(number, kind) => What::Number(number, kind),
            Word::Text(text) => What::Text(text),
            Word::Sign("(") => {
                let node = self.deeper(|parser| parser.level(0))?;
                self.needs(")")?;
                return Ok(node);
            }
            Word::Name(name) if name == "true" || name == "false" => What::Switch(name == "true"),
            Word::Name(name) if matches!(&*name, "and" | "or" | "not") => {
                return Err(ExprError::new(at, format!("a value is missing before {name}")));
            }
            Word::Name(name) => self.named(name)?,
            Word::Sign(sign) => return Err(ExprError::new(at, format!("a value is missing before {sign}"))),
        };
        Ok(Node { at, what })
    }

    fn named(&mut self, name: String) -> Result<What, ExprError> {
        let place = self.place();
        if !self.takes("(") {
            return match Builtin::of(&name) {
                Some(_) => Err(ExprError::new(place, format!("{name} needs values in parentheses"))),
                None => Ok(What::Name { name, argument: None }),
            };
        }
        let Some(builtin) = Builtin::of(&name) else {
            let at = self.place();
            let Some(Word::Text(argument)) = self.peek().cloned() else {
                return Err(ExprError::new(
                    at,
                    format!("{name} needs a name in quotes, as in {name}('NAME')"),
                ));
            };
            self.next += 1;
            self.needs(")")?;
            return Ok(What::Name { name, argument: Some(argument) });
        };
        let mut values = vec![self.deeper(|parser| parser.level(0))?];
        while self.takes(",") {
            values.push(self.deeper(|parser| parser.level(0))?);
        }
        self.needs(")")?;
        Ok(What::Call(builtin, values))
    }
}
