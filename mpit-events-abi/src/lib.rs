//! The C interface over the events core.
