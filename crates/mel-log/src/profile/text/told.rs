//! What plugins have told.

use std::fmt::Write as _;

use super::layout::{ranks, wrapped};
use crate::profile::schema::Profile;
use crate::profile::told::by_line;

/// The most lines.
const MOST: usize = 40;

/// A line for each thing that plugins have told; nothing where there are none.
#[must_use]
pub fn told(profile: &Profile) -> String {
    let all = by_line(&profile.ranks);
    if all.is_empty() {
        return String::new();
    }
    let mut text = String::from("\n what plugins say\n");
    for (line, who) in all.iter().take(MOST) {
        let who = match who.len() {
            count if count == profile.world_size as usize => "all ranks".into(),
            _ => ranks(who).unwrap_or_default(),
        };
        text += &wrapped(" - ", &format!("{}, {who}: {}: {}", line.plugin, line.name, line.value));
    }
    if all.len() > MOST {
        let _ = writeln!(text, " - and {} more: profile.json has all", all.len() - MOST);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::RankProfile;
    use crate::profile::told::Told;

    #[test]
    fn what_several_ranks_have_told_alike_is_one_line() {
        let told_by = |rank, value: &str| {
            let told = Told { plugin: "advise".into(), name: "eager".into(), value: value.into() };
            RankProfile { rank, told: vec![told], ..RankProfile::default() }
        };
        let ranks = vec![told_by(0, "raise it"), told_by(1, "raise it"), told_by(2, "leave it")];
        let text = told(&Profile { world_size: 3, ranks, ..Profile::default() });
        assert_eq!(
            text,
            "\n what plugins say\n - advise, ranks 0, 1: eager: raise it\n - advise, rank 2: eager: leave it\n"
        );
        assert_eq!(told(&Profile::default()), "");
    }
}
