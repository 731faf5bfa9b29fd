//! The C functions in any order, with any arguments that a C program can give them: callbacks that call
//! them again, handles that are stale or made up, null pointers, sizes that are wrong.
//!
//! What must hold: no panic (which would come back as an internal error), nothing written behind an
//! output or by a call that failed, only the codes of the rules, every free callback once, and nothing
//! left after the end.
#![no_main]

mod c;
mod calls;
mod input;
mod mock;
mod output;

use libfuzzer_sys::fuzz_target;
// The functions are called by their C names.
use mpit_events_entry_points as _;

fuzz_target!(|bytes: &[u8]| {
    input::begin(bytes);
    mock::begin();
    while let Some(choice) = input::next() {
        calls::call(choice);
    }
    calls::end();
    mock::check_end();
});
