//! Whole-system tests: MPI programs run under MEL on every installed MPI.
