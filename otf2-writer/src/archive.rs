//! An archive from its creation to its end.

use std::{cell::RefCell, collections::BTreeMap, ffi::CString, os::unix::ffi::OsStrExt, path::Path, rc::Rc};

use ranks::{Alone, Processes, tree};

use crate::{
    definitions::{Definitions, Shared, unify},
    error::Error,
    event_writer::EventWriter,
    ffi::{ArchiveSettings, RawArchive, RawEventWriter, write_definitions},
    parts::{LocationSummary, Parts},
    refs::LocationRef,
};

/// How an archive is made; [`create`](Self::create) makes it.
pub struct ArchiveOptions {
    name: String,
    creator: String,
    description: String,
    machine: String,
    event_chunk_bytes: u64,
    definition_chunk_bytes: u64,
    processes: Rc<dyn Processes>,
}

/// libotf2 gathers smaller chunks in a second buffer, of this size, for each file. That would cost
/// more memory than it saves; and when the disk is full, libotf2 3.0 goes on to use that buffer after
/// it has freed it.
const SMALLEST_CHUNK_BYTES: u64 = 4 << 20;

/// libotf2's limit.
const LARGEST_CHUNK_BYTES: u64 = 16 << 20;

impl Default for ArchiveOptions {
    fn default() -> Self {
        Self {
            name: "traces".into(),
            creator: concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION")).into(),
            description: String::new(),
            machine: String::new(),
            event_chunk_bytes: SMALLEST_CHUNK_BYTES,
            definition_chunk_bytes: SMALLEST_CHUNK_BYTES,
            processes: Rc::new(Alone),
        }
    }
}

impl ArchiveOptions {
    /// One process, an archive named `traces`.
    pub fn new() -> Self {
        Self::default()
    }

    /// The name of the archive: `NAME.otf2` and the directory `NAME/`.
    #[must_use]
    pub fn name(mut self, name: &str) -> Self {
        self.name = name.into();
        self
    }

    /// The tool that writes the archive, with its version.
    #[must_use]
    pub fn creator(mut self, creator: &str) -> Self {
        self.creator = creator.into();
        self
    }

    /// What was recorded.
    #[must_use]
    pub fn description(mut self, description: &str) -> Self {
        self.description = description.into();
        self
    }

    /// The machine on which it was recorded.
    #[must_use]
    pub fn machine(mut self, machine: &str) -> Self {
        self.machine = machine.into();
        self
    }

    /// Memory for the events of each open location, in bytes: 4 MiB (the default) to 16 MiB. It is
    /// reserved as a whole but used only as far as it is filled.
    #[must_use]
    pub fn event_chunk_bytes(mut self, bytes: u64) -> Self {
        self.event_chunk_bytes = bytes;
        self
    }

    /// Memory for definitions, in bytes: 4 MiB (the default) to 16 MiB. No definition can be larger;
    /// a group takes up to 9 bytes for each member.
    #[must_use]
    pub fn definition_chunk_bytes(mut self, bytes: u64) -> Self {
        self.definition_chunk_bytes = bytes;
        self
    }

    /// Several processes write the archive together, each the locations that it defines. All of them call
    /// [`create`](Self::create) and [`Archive::finish`].
    #[must_use]
    pub fn processes(mut self, processes: Rc<dyn Processes>) -> Self {
        self.processes = processes;
        self
    }

    /// Makes the archive in `directory`, which is made where it is not there.
    ///
    /// # Errors
    /// Where libotf2 is not installed, an archive of this name is there already, or the directory
    /// cannot be written to. If that is so for one process, it is an error for all.
    pub fn create(self, directory: &Path) -> Result<Archive, Error> {
        let chunks = SMALLEST_CHUNK_BYTES..=LARGEST_CHUNK_BYTES;
        for bytes in [self.event_chunk_bytes, self.definition_chunk_bytes] {
            if !chunks.contains(&bytes) {
                return Err(Error::ChunkSize(bytes));
            }
        }
        let processes = Rc::clone(&self.processes);
        let opened = self.open(directory);
        agree(&*processes, opened.as_ref().err())?;
        let (raw, settings) = opened?;
        let begun = raw.begin(settings);
        agree(&*processes, begun.as_ref().err())?;
        begun?;
        let definitions = Definitions::default();
        Ok(Archive { raw: Some(Rc::new(raw)), processes, locations: Rc::default(), definitions })
    }

    /// What a process does by itself.
    fn open(self, directory: &Path) -> Result<(RawArchive, ArchiveSettings), Error> {
        if self.processes.rank() == 0 {
            refuse_existing(directory, &self.name)?;
        }
        let path = |bytes: &[u8]| CString::new(bytes).map_err(|_| Error::Path(directory.join(&self.name)));
        let settings = ArchiveSettings {
            directory: path(directory.as_os_str().as_bytes())?,
            name: path(self.name.as_bytes())?,
            creator: path(self.creator.as_bytes())?,
            description: path(self.description.as_bytes())?,
            machine: path(self.machine.as_bytes())?,
            event_chunk_bytes: self.event_chunk_bytes,
            definition_chunk_bytes: self.definition_chunk_bytes,
        };
        Ok((RawArchive::open(&settings, self.processes)?, settings))
    }
}

/// libotf2 itself would overwrite the anchor file of another archive.
fn refuse_existing(directory: &Path, name: &str) -> Result<(), Error> {
    let candidates = [format!("{name}.otf2"), format!("{name}.def"), name.to_owned()];
    let mut paths = candidates.iter().map(|file| directory.join(file));
    match paths.find(|path| path.symlink_metadata().is_ok()) {
        Some(path) => Err(Error::Exists(path)),
        None => Ok(()),
    }
}

/// An error of one process is one of all, so that nobody waits for it: that of the lowest rank. The process that has it
/// goes on to return it itself.
fn agree(processes: &dyn Processes, error: Option<&Error>) -> Result<(), Error> {
    let first = |all: &mut Option<String>, part: Option<String>| *all = all.take().or(part);
    let all = tree::all_reduce(processes, error.map(Error::to_string), first)?;
    match (all, error) {
        (Some(elsewhere), None) => Err(Error::Elsewhere(elsewhere)),
        _ => Ok(()),
    }
}

/// An archive that is being written; see the [crate] for its life.
///
/// It and its event writers stay on one thread. Dropped unfinished, it is finished if it has a
/// clock, no location is open and this process writes it alone; else its files are closed as they
/// are. Neither reports errors.
pub struct Archive {
    /// `None` only when it is finished.
    raw: Option<Rc<RawArchive>>,
    processes: Rc<dyn Processes>,
    locations: Rc<RefCell<Locations>>,
    definitions: Definitions,
}

/// What this process opened, and what became of it.
#[derive(Default)]
pub(crate) struct Locations(BTreeMap<LocationRef, Option<LocationSummary>>);

impl Locations {
    pub(crate) fn closed(&mut self, summary: LocationSummary) {
        self.0.insert(summary.location, Some(summary));
    }
}

impl Archive {
    /// Makes an archive named `traces` in `directory`, written by this process alone.
    ///
    /// # Errors
    /// As [`ArchiveOptions::create`].
    pub fn create(directory: &Path) -> Result<Self, Error> {
        ArchiveOptions::new().create(directory)
    }

    /// The definitions so far.
    pub const fn definitions(&self) -> &Definitions {
        &self.definitions
    }

    /// The definitions, to make more of them.
    pub const fn definitions_mut(&mut self) -> &mut Definitions {
        &mut self.definitions
    }

    /// Opens a location to write its events.
    ///
    /// # Errors
    /// Where the location is, or was, open, or memory is exhausted.
    pub fn event_writer(&mut self, location: LocationRef) -> Result<EventWriter, Error> {
        // `raw` is `None` in `finish` and `drop` only, which do not come here.
        let raw = self.raw.as_ref().ok_or(Error::LocationFailed(location))?;
        if self.locations.borrow().0.contains_key(&location) {
            return Err(Error::LocationTaken(location));
        }
        let writer = RawEventWriter::open(raw, location)?;
        self.locations.borrow_mut().0.insert(location, None);
        Ok(EventWriter::new(writer, Rc::clone(&self.locations), location))
    }

    /// Writes the definitions and closes the archive. Locations that were defined but never opened
    /// are there, without events.
    ///
    /// # Errors
    /// Where a location is still open, rank 0 has no clock, or a file cannot be written. If that is so for one process, it
    /// is an error for all. What was written stays where it is.
    pub fn finish(mut self) -> Result<(), Error> {
        self.finish_once()
    }

    /// Ends an archive that this process cannot go on with, in place of [`finish`](Self::finish): the others are told why.
    pub fn abandon(mut self, why: &str) {
        // Closed when all know: closing is something that they do together.
        if let Some(_raw) = self.raw.take() {
            let _ = agree(&*self.processes, Some(&Error::Elsewhere(why.to_owned())));
        }
    }

    fn finish_once(&mut self) -> Result<(), Error> {
        let Some(raw) = self.raw.take() else { return Ok(()) };
        let processes = Rc::clone(&self.processes);
        let closed = self.close_locations(&raw);
        agree(&*processes, closed.as_ref().err())?;
        let summaries = closed?;

        let shared = std::mem::take(&mut self.definitions.shared);
        let (shared, mapping) = unify(&*processes, shared)?;
        let offsets = &self.definitions.clock_offsets;
        let own: Vec<LocationRef> = summaries.iter().map(|summary| summary.location).collect();
        let mut written = raw.write_local_definitions(&own, &mapping, offsets);
        let parts = Parts::gather(&*processes, &self.definitions.own, &summaries, &mapping)?;
        if processes.rank() == 0 {
            written = written.and_then(|()| self.write_definitions(&raw, &shared, &parts));
        }
        // No location is open, so nobody else holds the archive.
        let closed = Rc::into_inner(raw).map_or(Ok(()), RawArchive::close);
        let finished = written.and(closed);
        agree(&*processes, finished.as_ref().err())?;
        finished
    }

    /// What became of the locations of this process. Those that nobody wrote get empty files, because readers open them
    /// all.
    fn close_locations(&self, raw: &Rc<RawArchive>) -> Result<Vec<LocationSummary>, Error> {
        let mut locations = self.locations.borrow_mut();
        if let Some((&location, _)) = locations.0.iter().find(|(_, summary)| summary.is_none()) {
            return Err(Error::LocationOpen(location));
        }
        for location in self.definitions.own.locations.iter().map(|record| record.reference) {
            if !locations.0.contains_key(&location) {
                RawEventWriter::open(raw, location)?.close()?;
                let (first, last) = Default::default();
                locations.closed(LocationSummary { location, events: 0, first, last });
            }
        }
        Ok(locations.0.values().flatten().copied().collect())
    }

    fn write_definitions(&self, raw: &RawArchive, shared: &Shared, parts: &Parts) -> Result<(), Error> {
        let clock = self.definitions.clock.as_ref().ok_or(Error::NoClock)?;
        write_definitions(raw, shared, clock, parts)?;
        raw.write_markers(&shared.markers, parts)
    }
}

impl Drop for Archive {
    fn drop(&mut self) {
        let alone = self.raw.is_some() && self.processes.size() == 1;
        let closed = self.locations.borrow().0.values().all(Option::is_some);
        if alone && closed && self.definitions.clock.is_some() {
            let _ = self.finish_once();
        }
    }
}
