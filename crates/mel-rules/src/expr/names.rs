//! The quantities that expressions may name, and the functions that every expression has.

use super::value::Kind;

/// A quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantity {
    /// Its name.
    pub name: &'static str,
    /// What it takes in parentheses, in a word, such as the name of an MPI function; nothing for most.
    pub of: Option<&'static str>,
    /// What kind of value it has.
    pub kind: Kind,
    /// What it is, in a few words.
    pub meaning: &'static str,
}

/// A function of numbers and lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Builtin {
    Any,
    All,
    Sum,
    Min,
    Max,
    RoundUp,
}

impl Builtin {
    pub(super) const ALL: [(&'static str, Builtin); 6] = [
        ("any", Builtin::Any),
        ("all", Builtin::All),
        ("sum", Builtin::Sum),
        ("min", Builtin::Min),
        ("max", Builtin::Max),
        ("round_up", Builtin::RoundUp),
    ];

    pub(super) fn of(name: &str) -> Option<Builtin> {
        Builtin::ALL.iter().find(|(known, _)| *known == name).map(|(_, builtin)| *builtin)
    }
}

/// The known names that are most like this one, at most three.
pub(super) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut near: Vec<(usize, &str)> = known
        .map(|known| (distance(name, known), known))
        .filter(|(distance, known)| *distance <= 2 + name.len().max(known.len()) / 4)
        .collect();
    near.sort();
    near.into_iter().take(3).map(|(_, known)| known).collect()
}

/// By how many letters two names differ (Levenshtein). Here and not from a crate, because this runs inside programs, too.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let changed = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
