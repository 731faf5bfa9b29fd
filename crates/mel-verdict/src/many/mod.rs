//! Profiles of very many ranks: what they have counted is brought together along a tree, in sums whose size does not depend on how many
//! there are, but for six numbers for each. `docs/many-ranks.md` has the rules.
//!
//! - [`part`]: what some ranks have counted, in sums.
//! - [`rank`]: the sums of one rank, its details and its row in the table of ranks.
//! - [`judge`]: from the sums of all ranks to who is the cause, and what to ask for.
//! - [`fill`](mod@fill): what `profile.json` says.

pub mod fill;
pub mod judge;
pub mod part;
pub mod rank;
#[cfg(test)]
mod simulated;

pub use fill::fill;
pub use judge::{Judgement, Selection};
pub use part::Part;
pub use rank::{Detail, OfRank};
