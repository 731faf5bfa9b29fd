//! The `mel` command.
fn main() {}
