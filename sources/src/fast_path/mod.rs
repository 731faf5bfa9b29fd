//! The fast path: what most programs do, without lists and tables.
//!
//! - [`posting`]: receives that the application posts are noted ([`posts`]), and posted in the model together.
//! - [`in_a_row`]: a call that waits for all of them, in order, completes them as a [`Row`] ([`posts`]), a blocking receive as one of its
//!   own.
//! - [`bursts`]: where all rows would take too long, some stand for others.
//! - [`in_order`]: requests that end in the order in which they were made are not looked up.
//!
//! Events are the same as those of the matching, at the same times: `tests/a_row_of_receives_gives_the_events_of_the_queues.rs`.

mod bursts;
mod in_a_row;
mod in_order;
mod posting;
mod posts;
mod row;

pub(crate) use bursts::Bursts;
pub(crate) use in_order::InOrder;
pub(crate) use posts::{Post, Posts, Rows};
pub use row::Row;
