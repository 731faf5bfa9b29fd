//! Development tasks: generating the MPI wrappers.
fn main() {}
