//! The control variables of MEL: what each of them is called, means, and may be. What they do is not here.

use crate::Verbosity;
use crate::control::{Description, Domain, Scope};

/// Which of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each is what its description says")]
pub enum Own {
    Recording,
    Phase,
    SamplingInterval,
    EventLogLimit,
    EventBufferSize,
    EnvelopeRingSize,
    OnlyCalls,
    NoCalls,
    OnlyComms,
    NoComms,
    Profile,
}

/// Bytes of a list of names, its NUL among them.
const LIST: usize = 1024;
/// Bytes of the name of a phase, its NUL among them.
const NAME: usize = 256;
/// The shortest time between two samples, in microseconds; and the longest, a day.
const SHORTEST: u64 = 1000;
const LONGEST: u64 = 86_400_000_000;
/// A log has room for as much, whatever its limit is.
const SMALLEST_LOG: u64 = 4 << 20;
/// The most events that may wait.
pub const MOST_EVENTS: u64 = 1 << 20;

const SWITCH: Domain = Domain::Choice(&[(0, "off"), (1, "on")]);

const ALL: [(Own, &str, Scope, Verbosity, Domain, &str); 11] = {
    use Own as O;
    use Scope::{Constant, Local, ReadOnly};
    use Verbosity::{TunerBasic, TunerDetail, UserBasic, UserDetail};
    const TEXT: Domain = Domain::Text(LIST);
    [
        (
            O::Recording,
            "mel_recording",
            Local,
            UserBasic,
            SWITCH,
            "Whether MEL counts and records what the program does; off: what happens is in no profile, log or trace, as after mel_stop \
             and MPI_Pcontrol(0)",
        ),
        (
            O::Phase,
            "mel_phase",
            Local,
            UserBasic,
            Domain::Text(NAME),
            "The phase of the program that is counted in from now on, as mel_phase names it; empty for none",
        ),
        (
            O::SamplingInterval,
            "mel_sampling_interval",
            Local,
            UserBasic,
            Domain::Number { least: SHORTEST, most: LONGEST, or_zero: true },
            "Microseconds between two samples of performance variables (mel run --vars); 0: only where the program calls mel_sample",
        ),
        (
            O::EventLogLimit,
            "mel_event_log_limit",
            Local,
            UserDetail,
            Domain::Number { least: SMALLEST_LOG, most: u64::MAX, or_zero: false },
            "Bytes that the event log of this process may take; what follows is counted, not kept. A log that was full stays so",
        ),
        (
            O::EventBufferSize,
            "mel_event_buffer_size",
            Local,
            TunerBasic,
            Domain::Number { least: 1, most: MOST_EVENTS, or_zero: false },
            "Events that may wait inside an MPI call for their callbacks, where Open MPI itself reports on its queues (PERUSE); further \
             ones are counted as dropped",
        ),
        (
            O::EnvelopeRingSize,
            "mel_envelope_ring_size",
            Constant,
            TunerDetail,
            Domain::Number { least: 1, most: u64::MAX, or_zero: false },
            "Envelopes that may be on their way to this process on its node; further ones are counted as lost",
        ),
        (
            O::OnlyCalls,
            "mel_only_calls",
            Local,
            UserBasic,
            TEXT,
            "The MPI functions whose calls a trace records, with * and ?; empty for all",
        ),
        (
            O::NoCalls,
            "mel_no_calls",
            Local,
            UserBasic,
            TEXT,
            "The MPI functions whose calls a trace leaves out, with * and ?",
        ),
        (
            O::OnlyComms,
            "mel_only_comms",
            ReadOnly,
            UserBasic,
            TEXT,
            "The communicators that are recorded, with * and ?; empty for all",
        ),
        (
            O::NoComms,
            "mel_no_comms",
            ReadOnly,
            UserBasic,
            TEXT,
            "The communicators that are not recorded, with * and ?",
        ),
        (
            O::Profile,
            "mel_profile",
            ReadOnly,
            UserBasic,
            TEXT,
            "What is counted for the profile: some of calls, queues, rma, matrix and net; empty for nothing",
        ),
    ]
};

impl Own {
    /// All of them, in the order of their numbers.
    pub fn all() -> impl Iterator<Item = (Own, Description)> {
        ALL.iter().map(|(own, name, scope, verbosity, domain, description)| {
            let description = Description {
                name: (*name).into(),
                description: (*description).into(),
                verbosity: *verbosity,
                scope: *scope,
                domain: *domain,
            };
            (*own, description)
        })
    }

    /// The one of this name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Description> {
        Own::all().map(|(_, description)| description).find(|description| description.name == name)
    }

    /// Their names.
    pub fn names() -> impl Iterator<Item = &'static str> {
        ALL.iter().map(|own| own.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_ours_and_differ() {
        let names: std::collections::BTreeSet<&str> = Own::names().collect();
        assert_eq!(names.len(), ALL.len());
        assert!(names.iter().all(|name| name.starts_with("mel_")));
        assert_eq!(Own::of_name("mel_recording").map(|own| own.scope), Some(Scope::Local));
        assert_eq!(Own::of_name("mel_recordings"), None);
    }
}
