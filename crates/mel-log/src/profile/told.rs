//! What plugins have told of a rank: advice, and what they have found or done.

use serde::{Deserialize, Serialize};

use super::schema::RankProfile;
use crate::Definition;

/// A line of a plugin.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Told {
    /// The plugin.
    pub plugin: String,
    /// What it is about.
    pub name: String,
    /// The line.
    pub value: String,
}

/// The lines among the definitions of a table, in the order of their names' first mention. Of one plugin and name the last one stays.
#[must_use]
pub fn told(definitions: &[Definition]) -> Vec<Told> {
    let mut all: Vec<Told> = Vec::new();
    for definition in definitions {
        let Definition::Told { plugin, name, value } = definition else { continue };
        match all.iter_mut().find(|told| told.plugin == *plugin && told.name == *name) {
            Some(told) => told.value.clone_from(value),
            None => all.push(Told { plugin: plugin.clone(), name: name.clone(), value: value.clone() }),
        }
    }
    all
}

/// The lines of all ranks, those that are the same once, with their ranks.
pub(crate) fn by_line(ranks: &[RankProfile]) -> Vec<(&Told, Vec<u32>)> {
    let mut all: Vec<(&Told, Vec<u32>)> = Vec::new();
    let mut places: std::collections::HashMap<(&str, &str, &str), usize> = std::collections::HashMap::new();
    for rank in ranks {
        for told in &rank.told {
            let place = *places.entry((&told.plugin, &told.name, &told.value)).or_insert_with(|| {
                all.push((told, Vec::new()));
                all.len() - 1
            });
            all[place].1.push(rank.rank);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_one_name_the_last_line_stays() {
        let line = |plugin: &str, name: &str, value: &str| Definition::Told {
            plugin: plugin.into(),
            name: name.into(),
            value: value.into(),
        };
        let all = told(&[
            line("a", "eager limit", "1"),
            Definition::Phases {},
            line("b", "eager limit", "2"),
            line("a", "eager limit", "3"),
        ]);
        assert_eq!(all.len(), 2);
        assert_eq!((&*all[0].value, &*all[1].value), ("3", "2"));
    }
}
