//! What is made of the event logs at the end: texts, and the trace that all ranks write together.

use std::collections::BTreeSet;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::rc::Rc;

use mel_convert as convert;
use mel_convert::otf2;
use mel_log::RankLog;
use mel_log::access::{self, Access};
use mel_log::printable::Printable;
use mpi_abi::pmpi;
use ranks::{Processes, tree};

use crate::mpi_ranks::MpiRanks;
use crate::patience::Patience;
use crate::state::{Run, Session};
use crate::{disks, warn};

/// Writes the events of this rank as text, where some were asked for: beside its log.
pub(super) fn write_text(session: &Session, run: &Run) {
    // Without a log of its own this rank has said so at the start.
    let Some(directory) = run.directory.as_ref().filter(|_| run.recorder.is_some()) else { return };
    if session.config.events.is_none() {
        return;
    }
    let path = directory.join(format!("events-{}.txt", run.rank));
    let log = RankLog::look(&directory.join(mel_log::file_name(run.rank as u32)));
    let written = log.map_err(std::io::Error::other).and_then(|log| {
        let mut out = BufWriter::new(Printable::new(access::replace(&path)?));
        convert::text::write_rank(&mut out, &log, convert::text::Options::default(), |_| ())?;
        out.flush()
    });
    if let Err(error) = written {
        warn(&format!(
            "cannot write {}: {error}; `mel convert --text` does it from the event log",
            path.display()
        ));
    }
}

/// What is made of the event logs, once all are complete.
pub(super) fn write_files(session: &Session, run: &Run) {
    let Some(directory) = run.directory.as_ref().filter(|_| session.config.logs()) else { return };
    write_text(session, run);
    let (is_traced, chosen) = (session.config.trace, !session.config.comms.is_all());
    if session.config.events.is_some() {
        // The files of all ranks are complete after this.
        let _ = pmpi::barrier(session.abi.world());
        if run.rank == 0 {
            warn(&format!("the events are in {}/events-RANK.txt", directory.display()));
        }
    }
    let ranks = match MpiRanks::new(session.abi.world(), run.rank, run.size) {
        Ok(ranks) => Rc::new(ranks),
        Err(error) => {
            if run.rank == 0 {
                warn(&format!(
                    "the ranks cannot work together at the end: {error}{}",
                    tries_again(directory)
                ));
            }
            return;
        }
    };
    let path = directory.join(mel_log::file_name(run.rank as u32));
    // Without a log of its own this rank has said so at the start; the others go on.
    let log = run.recorder.and_then(|_| match RankLog::look(&path) {
        Ok(log) => Some(log),
        Err(error) => {
            warn(&format!("{error}; left out of the trace"));
            None
        }
    });
    if chosen {
        complain_of_communicators(session, &*ranks, log.as_ref());
    }
    let apart = disks::find(directory, &run.host, &*ranks).and_then(|apart| {
        if is_traced && !apart.is_empty() {
            disks::make_room(directory, &apart, &*ranks)?;
        }
        Ok(apart)
    });
    if is_traced {
        write_trace(directory, ranks, log, session.config.access != Access::Private);
    }
    if run.rank == 0 {
        apart.ok().and_then(|apart| disks::line(directory, &apart)).iter().for_each(|line| warn(line));
    }
}

/// Each rank writes its part of the trace, which others than the owner of the directory may read if it is shared.
fn write_trace(directory: &Path, ranks: Rc<MpiRanks>, log: Option<RankLog>, shared: bool) {
    let is_first = ranks.rank() == 0;
    let records = log.as_ref().map_or(0, RankLog::records_at_most);
    let share = otf2::Share { logs: log.as_slice(), world: ranks.size(), processes: ranks };
    let patience = is_first.then(|| Patience::new("writing the trace", records));
    let tick = |records| patience.iter().for_each(|patience| patience.advance(records));
    let written = otf2::write_share(&share, directory, &[], &tick);
    drop(patience);
    if is_first {
        // The library that writes traces knows the umask alone.
        let places = otf2::places(directory);
        places.iter().for_each(|path| access::share(path));
        if shared {
            let entries = std::fs::read_dir(&places[2]).into_iter().flatten().flatten();
            entries.for_each(|entry| access::share(&entry.path()));
        }
    }
    match written {
        _ if !is_first => {}
        Ok(_) => warn(&format!("the trace is {}", directory.join(otf2::FILE_NAME).display())),
        Err(error) => warn(&format!("{error}{}", tries_again(directory))),
    }
}

fn tries_again(directory: &Path) -> String {
    format!("; `mel convert --otf2 {}` tries again", directory.display())
}

/// A line for each choice of communicators that has fitted none of any rank. Known at the end: programs make them and name them
/// as they go.
fn complain_of_communicators(session: &Session, ranks: &dyn Processes, log: Option<&RankLog>) {
    let known = log.iter().flat_map(|log| &log.definitions.communicators);
    let names: BTreeSet<String> =
        known.flat_map(|(number, known)| [number.to_string(), known.name.clone()]).collect();
    let union = |all: &mut BTreeSet<String>, part: BTreeSet<String>| {
        if all.len() < MOST_NAMES {
            all.extend(part);
        }
    };
    let Ok(names) = tree::all_reduce(ranks, names, union) else { return };
    if ranks.rank() == 0 && names.len() < MOST_NAMES {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        session.config.comms.complaints("communicator", &names).iter().for_each(|line| warn(line));
    }
}

/// A program that names so many communicators, a name for each rank or the like, is spared the complaints.
const MOST_NAMES: usize = 4096;
