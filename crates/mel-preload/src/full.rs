//! Where the events core has no space for something of ours: what is missing then, in a line for the user. The program runs
//! on without it.

use std::sync::Once;

use mel_log::launcher::is_first_rank;
use mel_log::settings::EVENTS;
use mpit_events::Error;

use crate::warn;

/// What was made; else the first rank warns of what is missing without it.
pub fn or_warn<T>(made: Result<T, Error>, missing: &str) -> Option<T> {
    made.inspect_err(|error| {
        if is_first_rank() {
            warn(&line(error, missing));
        }
    })
    .ok()
}

/// The registration of a chosen event; else the first rank warns, once for all of them.
pub fn or_warn_once<T>(registration: Result<T, Error>) -> Option<T> {
    static WARNED: Once = Once::new();
    registration
        .map_err(|error| WARNED.call_once(|| _ = or_warn(Err::<(), _>(error), "some events are not logged")))
        .ok()
}

fn line(error: &Error, missing: &str) -> String {
    format!(
        "{error}: {missing}; let no other tool use the MPI_T events interface in this process, or log fewer event types \
         (-e, {EVENTS})"
    )
}

#[cfg(test)]
mod tests {
    use mpit_events::{BindKind, Core, EventType};
    use mpit_sources::matching::{Ob1Events, Queued};

    use super::*;
    use crate::queues::QueueProfiler;

    #[test]
    fn a_core_without_space_for_our_types_is_one_line_with_the_remedy() {
        let core = Core::new();
        let add = |number: usize| {
            core.add_type(EventType::of::<Queued>(format!("type {number}"), "", BindKind::None))
        };
        assert!((0..).map_while(|number| add(number).ok()).count() > 0);
        let error = Ob1Events::register(&core, "").expect_err("the core is full");
        let line = line(&error, "nothing is measured");
        assert!(line.starts_with(
            "the limit of event types or registrations is reached: nothing is measured; let no"
        ));
        assert_eq!(line.lines().count(), 1);
    }

    #[test]
    fn a_profiler_that_finds_no_space_is_none() {
        let core = Core::new();
        Ob1Events::register(&core, "").expect("the core is empty");
        let listen = || or_warn(QueueProfiler::listen(&core, "", None), "the message queues are not counted");
        let listening = (0..100).map_while(|_| listen()).count();
        assert!((1..100).contains(&listening), "{listening}");
    }
}
