//! Names of event types and MPI functions as users type them.

use std::cmp::Reverse;

/// What a communicator is called that the program has not named, by its identity.
#[must_use]
pub fn of_communicator(context: u64) -> String {
    format!("communicator {:x}", context as u32)
}

/// The names in a list as `MEL_EVENTS` has it: separated by commas, colons, semicolons or white space.
pub fn parse_list(list: &str) -> impl Iterator<Item = &str> {
    list.split(|c: char| matches!(c, ',' | ':' | ';') || c.is_whitespace()).filter(|name| !name.is_empty())
}

/// The known names that are most like an unknown one, best first; at most three, none if nothing is
/// like it.
pub fn nearest_names<'a>(unknown: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    const LIKE: f64 = 0.55;
    let unknown = unknown.to_lowercase();
    let mut scored: Vec<(u32, &str)> = known
        .into_iter()
        .filter_map(|name| {
            // A part of a name, such as `message_arrived`, is as good as a misspelt whole.
            let part = unknown.len() >= 4 && name.contains(&unknown);
            let likeness = if part { 1.0 } else { strsim::normalized_damerau_levenshtein(&unknown, name) };
            (likeness >= LIKE).then_some(((likeness * 1e6) as u32, name))
        })
        .collect();
    scored.sort_by_key(|(likeness, name)| (Reverse(*likeness), *name));
    scored.dedup();
    scored.into_iter().take(3).map(|(_, name)| name).collect()
}

/// A line for the user about each name that is not among the known event types, and whether a known one is like it.
pub fn unknown_events<'a>(names: impl IntoIterator<Item = &'a str>, known: &[&str]) -> Vec<(String, bool)> {
    let unknown = names.into_iter().filter(|name| !known.contains(name));
    unknown
        .map(|name| {
            let nearest = nearest_names(name, known.iter().copied());
            let hint = match nearest[..] {
                [] => "see `mel events`".into(),
                _ => format!("nearest: {}", nearest.join(", ")),
            };
            (format!("there is no event type {name}; {hint}"), !nearest.is_empty())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_separated_in_any_of_the_four_ways() {
        let names: Vec<&str> = parse_list(" a,b:c;d  e\n,,").collect();
        assert_eq!(names, ["a", "b", "c", "d", "e"]);
        assert_eq!(parse_list("").count(), 0);
    }

    #[test]
    fn the_nearest_names_come_first() {
        let known =
            ["pml_ob1_message_arrived", "pml_ob1_posted_insert", "pml_ob1_posted_remove", "osc_rdma_fence"];
        assert_eq!(nearest_names("pml_ob1_mesage_arrived", known), ["pml_ob1_message_arrived"]);
        assert_eq!(nearest_names("message_arrived", known), ["pml_ob1_message_arrived"]);
        assert_eq!(nearest_names("PML_OB1_POSTED_INSET", known)[0], "pml_ob1_posted_insert");
        assert_eq!(nearest_names("posted", known), ["pml_ob1_posted_insert", "pml_ob1_posted_remove"]);
        assert_eq!(nearest_names("nothing of the kind", known), [""; 0]);
    }

    #[test]
    fn an_unknown_event_has_a_line_with_what_is_like_it() {
        let lines = unknown_events(["a_mistake", "pml_sent", "pml_sedn"], &["pml_sent", "pml_received"]);
        assert_eq!(
            lines,
            [
                ("there is no event type a_mistake; see `mel events`".into(), false),
                ("there is no event type pml_sedn; nearest: pml_sent".into(), true),
            ]
        );
    }
}
