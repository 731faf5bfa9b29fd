//! Rules in TOML. Errors have the line and the column, and what is known there.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use toml::Spanned;

use crate::expr::{Expr, ExprError, Quantity};
use crate::rule::{Assignment, Rule, Then};
use crate::text::Template;
use crate::{of_run, policy};

/// Why a file has no rules, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    /// The name of the file.
    pub file: String,
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// The line itself.
    pub text: String,
    /// What is wrong, and what would be right.
    pub message: String,
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}:{}:{}: {}", self.file, self.line, self.column, self.message)?;
        writeln!(f, "  {}", self.text)?;
        write!(f, "  {}^", " ".repeat(self.column - 1))
    }
}

impl std::error::Error for FileError {}

type Table = BTreeMap<String, Spanned<toml::Value>>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    rule: Vec<Spanned<RuleTable>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleTable {
    name: String,
    #[serde(default)]
    source: String,
    #[serde(default)]
    untested: bool,
    when: Spanned<String>,
    then: Spanned<ThenTable>,
    otherwise: Option<Spanned<OtherwiseTable>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ThenTable {
    advise: Option<Spanned<String>>,
    #[serde(default, rename = "try")]
    tries: Vec<Table>,
    #[serde(default)]
    set: Table,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OtherwiseTable {
    set: Table,
}

/// Reads the rules of a file, whose name is for errors.
///
/// # Errors
/// It is no TOML, lacks something, or has an expression that is none.
pub fn parse(text: &str, file: &str) -> Result<Vec<Rule>, FileError> {
    let source = Source { text, file };
    let tables: File = toml::from_str(text).map_err(|error| {
        source.error(error.span().map_or(0, |span| span.start), error.message().trim().to_owned())
    })?;
    tables.rule.into_iter().map(|rule| of_table(&source, rule)).collect()
}

fn of_table(source: &Source<'_>, rule: Spanned<RuleTable>) -> Result<Rule, FileError> {
    let rule = rule.into_inner();
    let place = rule.then.span().start;
    let then = rule.then.into_inner();
    let Some(advise) = then.advise else {
        if then.set.is_empty() {
            let message = "then has neither advise (of a run that is over) nor set (while a program runs)";
            return Err(source.error(place, message.into()));
        }
        if !then.tries.is_empty() {
            return Err(source.error(place, "try belongs to advise: set is done while a program runs".into()));
        }
        let known = policy::QUANTITIES;
        return Ok(Rule {
            name: rule.name,
            source: rule.source,
            untested: rule.untested,
            when: source.condition(&rule.when, known)?,
            then: Then::Set {
                set: source.assignments(then.set, known)?,
                otherwise: match rule.otherwise {
                    Some(otherwise) => source.assignments(otherwise.into_inner().set, known)?,
                    None => Vec::new(),
                },
            },
        });
    };
    if !then.set.is_empty() {
        let message = "a rule either advises or sets: what could be tried after a run belongs to try";
        return Err(source.error(place, message.into()));
    }
    if let Some(otherwise) = rule.otherwise {
        let message = "otherwise belongs to set: there is no advice where a condition does not hold";
        return Err(source.error(otherwise.span().start, message.into()));
    }
    let known = of_run::QUANTITIES;
    let text = Template::parse(advise.get_ref(), known).map_err(|error| source.inside(&advise, &error))?;
    let tries =
        then.tries.into_iter().map(|table| source.assignments(table, known)).collect::<Result<_, _>>()?;
    Ok(Rule {
        name: rule.name,
        source: rule.source,
        untested: rule.untested,
        when: source.condition(&rule.when, known)?,
        then: Then::Advise { text, tries },
    })
}

struct Source<'a> {
    text: &'a str,
    file: &'a str,
}

impl Source<'_> {
    /// An error at this byte.
    fn error(&self, at: usize, message: String) -> FileError {
        let mut at = at.min(self.text.len());
        while !self.text.is_char_boundary(at) {
            at -= 1;
        }
        let begin = self.text[..at].rfind('\n').map_or(0, |end| end + 1);
        let end = self.text[begin..].find('\n').map_or(self.text.len(), |length| begin + length);
        FileError {
            file: self.file.to_owned(),
            line: self.text[..at].matches('\n').count() + 1,
            column: self.text[begin..at].chars().count() + 1,
            text: self.text[begin..end].to_owned(),
            message,
        }
    }

    /// An error within a text, where it has no escapes exactly there.
    fn inside<T>(&self, text: &Spanned<T>, error: &ExprError) -> FileError {
        let span = text.span();
        let raw = self.text.get(span.clone()).unwrap_or("");
        let quotes = ["\"\"\"\n", "'''\n", "\"\"\"", "'''", "\"", "'"];
        let opening = quotes.iter().find(|quote| raw.starts_with(**quote)).map_or(0, |quote| quote.len());
        self.error((span.start + opening + error.at).min(span.end), error.message.clone())
    }

    fn condition(&self, text: &Spanned<String>, known: &[Quantity]) -> Result<Expr, FileError> {
        Expr::condition(text.get_ref(), known).map_err(|error| self.inside(text, &error))
    }

    /// Texts are expressions; numbers and switches are what they are.
    fn assignments(&self, table: Table, known: &[Quantity]) -> Result<Vec<Assignment>, FileError> {
        let assignment = |(name, value): (String, Spanned<toml::Value>)| {
            let usable = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
            if name.is_empty() || !name.chars().all(usable) {
                return Err(
                    self.error(value.span().start, format!("{name:?} is no name of a control variable"))
                );
            }
            let text = match value.get_ref() {
                toml::Value::String(text) => text.clone(),
                toml::Value::Integer(number) => number.to_string(),
                toml::Value::Float(number) => number.to_string(),
                toml::Value::Boolean(switch) => switch.to_string(),
                other => {
                    let message = format!(
                        "a value is a number or an expression in quotes, and this is {}",
                        other.type_str()
                    );
                    return Err(self.error(value.span().start, message));
                }
            };
            let expr = Expr::parse(&text, known).map_err(|error| self.inside(&value, &error))?;
            Ok(Assignment { name, value: expr })
        };
        table.into_iter().map(assignment).collect()
    }
}

/// The files of the rules that come with MEL, one for each matter: name and text.
pub const SHIPPED: [(&str, &str); 6] = [
    ("eager-open-mpi.toml", include_str!("../rules/eager-open-mpi.toml")),
    ("eager-mpich.toml", include_str!("../rules/eager-mpich.toml")),
    ("collectives-open-mpi.toml", include_str!("../rules/collectives-open-mpi.toml")),
    ("collectives-mpich.toml", include_str!("../rules/collectives-mpich.toml")),
    ("buffers-mvapich2.toml", include_str!("../rules/buffers-mvapich2.toml")),
    ("sharp-mvapich2.toml", include_str!("../rules/sharp-mvapich2.toml")),
];

/// All rules that come with MEL.
///
/// # Errors
/// Never: a test reads them.
pub fn shipped() -> Result<Vec<Rule>, FileError> {
    let mut all = Vec::new();
    for (name, text) in SHIPPED {
        all.extend(parse(text, name)?);
    }
    Ok(all)
}
