//! Names of event types and MPI functions as users type them.

use std::cmp::Reverse;

use glob::Pattern;

/// What a communicator is called that the program has not named, by its identity. That of all processes is named by MPI, but
/// where it has been made from a session.
#[must_use]
pub fn of_communicator(context: u64) -> String {
    if context == 0 {
        return "communicator of all ranks".into();
    }
    format!("communicator {:x}", context as u32)
}

/// The names in a list as `MEL_EVENTS` has it: separated by commas, colons, semicolons or white space.
pub fn parse_list(list: &str) -> impl Iterator<Item = &str> {
    list.split(|c: char| matches!(c, ',' | ':' | ';') || c.is_whitespace()).filter(|name| !name.is_empty())
}

/// Which of the known event types a word of such a list means, by their places: `all`; a pattern with `*`, `?` or `[ab]`; a name; a
/// name with `ompi_` before it, as Open MPI's prototype exports it; or the last words of a name, as papers have them: `rdma_fence` for
/// `osc_rdma_fence`. None where it means nothing.
#[must_use]
pub fn meant_events(word: &str, known: &[&str]) -> Vec<usize> {
    if word == "all" {
        return (0..known.len()).collect();
    }
    let word = word.strip_prefix("ompi_").unwrap_or(word);
    let of = |fits: &dyn Fn(&str) -> bool| -> Vec<usize> {
        (0..known.len()).filter(|&place| fits(known[place])).collect()
    };
    if word.contains(['*', '?', '[']) {
        return Pattern::new(word).map_or_else(|_| Vec::new(), |pattern| of(&|name| pattern.matches(name)));
    }
    let exact = of(&|name| name == word);
    if !exact.is_empty() {
        return exact;
    }
    let last = of(&|name| name.strip_suffix(word).is_some_and(|before| before.ends_with('_')));
    // Of a second backend's names, which begin with its own, nobody thinks.
    last.into_iter().min_by_key(|&place| known[place].len()).into_iter().collect()
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

/// A line for the user about each word that [means](meant_events) no event type, and whether a known one is like it.
pub fn unknown_events<'a>(words: impl IntoIterator<Item = &'a str>, known: &[&str]) -> Vec<(String, bool)> {
    let unknown = words.into_iter().filter(|word| meant_events(word, known).is_empty());
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
    fn a_word_means_a_name_its_end_a_pattern_or_all() {
        let known =
            ["pml_ob1_unex_insert", "pml_ob1_unex_remove", "osc_rdma_fence", "model_pml_ob1_unex_insert"];
        for (word, meant) in [
            ("all", &[0, 1, 2, 3][..]),
            ("pml_ob1_*", &[0, 1]),
            ("*_fence", &[2]),
            ("pml_ob1_unex_insert", &[0]),
            ("ompi_pml_ob1_unex_insert", &[0]),
            ("ompi_pml_*", &[0, 1]),
            ("rdma_fence", &[2]),
            ("unex_insert", &[0]),
            ("model_pml_ob1_unex_insert", &[3]),
            ("insert", &[0]),
            ("ex_insert", &[]),
            ("[", &[]),
            ("nothing*", &[]),
        ] {
            assert_eq!(meant_events(word, &known), meant, "{word}");
        }
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
