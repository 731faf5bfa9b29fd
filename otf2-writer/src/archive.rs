//! An archive from its creation to its end.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    ffi::CString,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    rc::Rc,
};

use crate::{
    clock::Ticks,
    collectives::{Collectives, Serial},
    definitions::Definitions,
    error::Error,
    event_writer::EventWriter,
    ffi::{ArchiveSettings, RawArchive, RawEventWriter, write_definitions},
    refs::LocationRef,
    summary::{self, LocationSummary},
};

/// How an archive is made; [`create`](Self::create) makes it.
pub struct ArchiveOptions {
    name: String,
    creator: String,
    description: String,
    machine: String,
    event_chunk_bytes: u64,
    definition_chunk_bytes: u64,
    collectives: Box<dyn Collectives>,
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
            collectives: Box::new(Serial),
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

    /// Several processes write the archive together, each its own locations. All of them call
    /// [`create`](Self::create) and [`Archive::finish`]; rank 0 has the definitions.
    #[must_use]
    pub fn collectives(mut self, collectives: Box<dyn Collectives>) -> Self {
        self.collectives = collectives;
        self
    }

    /// Makes the archive in `directory`, which is made where it is not there.
    ///
    /// # Errors
    /// Where libotf2 is not installed, an archive of this name is there already, or the directory
    /// cannot be written to.
    pub fn create(self, directory: &Path) -> Result<Archive, Error> {
        let chunks = SMALLEST_CHUNK_BYTES..=LARGEST_CHUNK_BYTES;
        for bytes in [self.event_chunk_bytes, self.definition_chunk_bytes] {
            if !chunks.contains(&bytes) {
                return Err(Error::ChunkSize(bytes));
            }
        }
        refuse_existing(directory, &self.name, &*self.collectives)?;
        let path = |bytes: &[u8]| CString::new(bytes).map_err(|_| Error::Path(directory.join(&self.name)));
        let raw = RawArchive::create(ArchiveSettings {
            directory: path(directory.as_os_str().as_bytes())?,
            name: path(self.name.as_bytes())?,
            creator: path(self.creator.as_bytes())?,
            description: path(self.description.as_bytes())?,
            machine: path(self.machine.as_bytes())?,
            event_chunk_bytes: self.event_chunk_bytes,
            definition_chunk_bytes: self.definition_chunk_bytes,
            collectives: self.collectives,
        })?;
        Ok(Archive { raw: Some(Rc::new(raw)), locations: Rc::default(), definitions: Definitions::default() })
    }
}

/// libotf2 itself would overwrite the anchor file of another archive. All ranks get the answer of
/// rank 0.
fn refuse_existing(directory: &Path, name: &str, collectives: &dyn Collectives) -> Result<(), Error> {
    let candidates = [format!("{name}.otf2"), format!("{name}.def"), name.to_owned()];
    let mut existing = candidates
        .iter()
        .map(|file| directory.join(file))
        .filter(|path| collectives.rank() == 0 && path.symlink_metadata().is_ok());
    let found: Option<PathBuf> = existing.next();
    let mut answer = [u8::from(found.is_some())];
    collectives.bcast(&mut answer, 0).map_err(|_| Error::Collective { doing: "creating the archive" })?;
    match answer {
        [0] => Ok(()),
        _ => Err(Error::Exists(found.unwrap_or_else(|| directory.join(&candidates[0])))),
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
    /// Where a location is still open, rank 0 has no clock, or a file cannot be written. What was
    /// written stays where it is.
    pub fn finish(mut self) -> Result<(), Error> {
        self.finish_once()
    }

    fn finish_once(&mut self) -> Result<(), Error> {
        let Some(raw) = self.raw.take() else { return Ok(()) };
        let (own, open) = {
            let locations = self.locations.borrow();
            let open = locations.0.iter().find(|(_, summary)| summary.is_none());
            let own: Vec<LocationSummary> = locations.0.values().flatten().copied().collect();
            (own, open.map_or(Ok(()), |(&location, _)| Err(Error::LocationOpen(location))))
        };
        // Also after an error of one process, so that the others do not wait for it.
        let all = summary::collect(&own, raw.collectives());
        open?;
        let all = all?;

        let mut mine: Vec<LocationRef> = own.iter().map(|summary| summary.location).collect();
        let primary = raw.collectives().rank() == 0;
        if primary {
            mine.extend(self.write_missing(&raw, &all)?);
        }
        raw.write_local_definitions(&mine, &self.definitions.clock_offsets)?;
        if primary {
            self.write_definitions(&raw, &all)?;
            raw.write_markers(&self.definitions)?;
        }
        // No location is open, so nobody else holds the archive.
        Rc::into_inner(raw).map_or(Ok(()), RawArchive::close)
    }

    /// Makes empty event files for the locations that nobody wrote, because readers open them all.
    fn write_missing(
        &self,
        raw: &Rc<RawArchive>,
        all: &[LocationSummary],
    ) -> Result<Vec<LocationRef>, Error> {
        let mut missing: Vec<LocationRef> =
            (0..self.definitions.locations.len() as u64).map(LocationRef).collect();
        let written: std::collections::BTreeSet<LocationRef> =
            all.iter().map(|summary| summary.location).collect();
        missing.retain(|location| !written.contains(location));
        for &location in &missing {
            RawEventWriter::open(raw, location)?.close()?;
        }
        Ok(missing)
    }

    fn write_definitions(&self, raw: &RawArchive, all: &[LocationSummary]) -> Result<(), Error> {
        let clock = self.definitions.clock.as_ref().ok_or(Error::NoClock)?;
        let span = all
            .iter()
            .filter(|summary| summary.events > 0)
            .map(|summary| (summary.first, summary.last))
            .reduce(|(first, last): (Ticks, Ticks), next| (first.min(next.0), last.max(next.1)));
        let counts: BTreeMap<LocationRef, u64> =
            all.iter().map(|summary| (summary.location, summary.events)).collect();
        write_definitions(raw, &self.definitions, clock, span, |location| {
            counts.get(&location).copied().unwrap_or(0)
        })
    }
}

impl Drop for Archive {
    fn drop(&mut self) {
        let alone = self.raw.as_ref().is_some_and(|raw| raw.collectives().size() == 1);
        let closed = self.locations.borrow().0.values().all(Option::is_some);
        if alone && closed && self.definitions.clock.is_some() {
            let _ = self.finish_once();
        }
    }
}
