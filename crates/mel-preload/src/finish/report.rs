//! What runs, and how its profile is told.

use mel_log::profile::{self, Profile};
use mel_log::settings::counted;
use mel_log::{Definition, printable};
use mpi_intercept::standard_error;
use mpit_sources::calls::NotFollowed;
use mpit_sources::matching::Truth;

use crate::state::{Run, Session};
use crate::warn;

/// Prints and writes the profile; whether it is in a file.
pub(super) fn report_profile(session: &Session, run: &Run, whole: &Profile) -> bool {
    let options = profile::text::Options { directory: run.directory.as_deref(), lines: session.config.lines };
    // Without a directory nothing else is left of the run.
    let config = &session.config;
    let directory = run.directory.as_deref().filter(|_| !config.full && !config.lines);
    let commands: &[&str] = if config.trace { &["analyze"] } else { &[] };
    let short =
        directory.and_then(|directory| profile::text::short(whole, directory, config.screen, commands));
    let full = short.is_none();
    standard_error::write(
        &short.unwrap_or_else(|| printable::lines(&profile::report(whole, options)).into_owned()),
    );
    let Some(directory) = &run.directory else { return false };
    let path = directory.join(profile::file::FILE_NAME);
    let written = profile::file::write(&path, whole);
    match &written {
        Ok(()) if full => warn(&format!("the profile is {}", path.display())),
        Ok(()) => {}
        Err(error) => warn(&format!("cannot write {}: {error}; make room or use -o", path.display())),
    }
    written.is_ok()
}

/// What runs, as it is known before it begins.
pub(crate) fn program(session: &Session) -> Definition {
    let mut backends = session.queue_events.backends().iter().map(|backend| backend.name());
    Definition::Program {
        command: std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect(),
        mpi: session.abi.library.clone(),
        backend: backends.next().unwrap_or("none").into(),
        second: backends.next().unwrap_or_default().into(),
        mel_version: env!("CARGO_PKG_VERSION").into(),
        profiled: profiled(session),
        launcher: mel_log::launcher::in_words(),
    }
}

/// What is counted; nothing where it is only the queues, as it was always.
fn profiled(session: &Session) -> Vec<String> {
    let names: Vec<&str> = session.consumers.iter().filter_map(|consumer| consumer.counted()).collect();
    if names == [counted::QUEUES] {
        return Vec::new();
    }
    names.into_iter().map(str::to_owned).collect()
}

pub(super) fn convert_truth(truth: Truth) -> profile::Truth {
    let Truth { matched, rematched, envelopes_lost, never_received, dropped } = truth;
    profile::Truth { matched, rematched, envelopes_lost, never_received, dropped }
}

pub(super) fn not_followed(session: &Session) -> profile::NotFollowed {
    let not_followed = session.queue_events.model().not_followed();
    let NotFollowed { communicators, calls, partitioned, receives, bursts, bursts_followed } = not_followed;
    profile::NotFollowed { communicators, calls, partitioned, receives, bursts, bursts_followed }
}
