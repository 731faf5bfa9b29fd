//! What the log says of performance variables, and of other counters, that were read while the process ran.
//!
//! A record of kind [`SAMPLE`](super::kind::SAMPLE) is one value of one variable on one object at one time; the definition of the variable
//! says what that means. They are in a stream of their own.

use std::collections::{BTreeMap, BTreeSet};

use super::definitions::{Definitions, SampledVariable};
use super::payload::payload;

payload! {
    /// The payload of a sample.
    pub struct Sample {
        /// The number of the variable's definition.
        pub variable: u32,
        /// Which element of the variable, from 0; none of the only one, and of the sum of all.
        pub element: Option<u32>,
        /// The value.
        pub value: f64,
    }
}

impl SampledVariable {
    /// Whether its values count up.
    pub fn counts(&self) -> bool {
        crate::profile::variables::counts(&self.class)
    }

    /// What it is called: `unexpected_queue_length on MPI_COMM_WORLD`. Others of the process may be called so, too.
    pub fn title(&self) -> String {
        if self.object.is_empty() { self.name.clone() } else { format!("{} on {}", self.name, self.object) }
    }
}

/// What an element is called of a variable that is called so; or the only one, or the sum.
pub fn title_of_element(title: &str, element: Option<u32>) -> String {
    element.map_or_else(|| title.to_owned(), |element| format!("{title}, element {element}"))
}

impl Definitions {
    /// What each variable is called, by number, and no two of them the same.
    pub fn variable_titles(&self) -> BTreeMap<u32, String> {
        let mut known = BTreeSet::new();
        let unique = |(&number, variable): (&u32, &SampledVariable)| {
            let title = variable.title();
            let others = (2..).map(|place| format!("{title} ({place})"));
            let mut all = std::iter::once(title.clone()).chain(others);
            let free = all.find(|title| !known.contains(title)).unwrap_or_default();
            known.insert(free.clone());
            (number, free)
        };
        self.variables.iter().map(unique).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_sample_comes_back_as_it_went(
            variable: u32, element in proptest::option::of(0..u32::MAX), value in -1e300..1e300f64,
        ) {
            let sample = Sample { variable, element, value };
            prop_assert_eq!(Sample::from_payload(&sample.to_payload()), sample);
        }

        #[test]
        fn any_bytes_are_a_sample_with_a_number(bytes in proptest::collection::vec(any::<u8>(), 0..24)) {
            prop_assert!(Sample::from_payload(&bytes).value.is_finite());
        }
    }

    #[test]
    fn a_title_says_what_of_what() {
        let variable = SampledVariable {
            name: "length".into(),
            class: "level".into(),
            object: "the halo".into(),
            is_whole: true,
            ..SampledVariable::default()
        };
        let mut definitions = Definitions::default();
        definitions.variables.extend([(4, variable.clone()), (7, variable.clone()), (9, variable.clone())]);
        let titles = definitions.variable_titles();
        assert_eq!(
            titles.values().collect::<Vec<_>>(),
            ["length on the halo", "length on the halo (2)", "length on the halo (3)"]
        );
        assert_eq!(title_of_element(&titles[&7], Some(2)), "length on the halo (2), element 2");
        let bound_to_nothing = SampledVariable { object: String::new(), class: "timer".into(), ..variable };
        assert_eq!((bound_to_nothing.title(), bound_to_nothing.counts()), ("length".into(), true));
    }
}
