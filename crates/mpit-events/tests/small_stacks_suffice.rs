//! Whoever initialises MPI may do so in a thread with a small stack, where the core is made.
#![allow(missing_docs)]
mod common;
use common::MockSource;

#[test]
fn a_core_needs_little_of_the_stack() {
    const STACK: usize = 256 << 10;
    let made = std::thread::Builder::new().stack_size(STACK).spawn(|| MockSource::new().raise(1));
    made.unwrap().join().unwrap();
}
