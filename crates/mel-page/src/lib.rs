//! What people look at of a run, but for text.
//!
//! - [`view`]: what a page or a picture shows of a run.
//! - [`html`](mod@html): the page of a run.
//! - [`png`](mod@png): pictures of a run.
//!
//! Knows no event by name.

pub mod html;
pub mod png;
pub mod view;
