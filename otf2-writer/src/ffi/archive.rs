//! The archive's handle.

use std::{
    cell::Cell,
    collections::BTreeMap,
    ffi::{CString, c_void},
    ptr::{self, NonNull},
    rc::Rc,
};

use otf2_sys::{OTF2_Archive, OTF2_FlushCallbacks, OTF2_GlobalDefWriter, Otf2};

use super::{
    errors::{handle, silence, strictly},
    memory,
    processes::{CALLBACKS, PinnedProcesses},
};
use ranks::Processes;

use crate::{
    clock::ClockOffset,
    definitions::{Mapping, Mark, MarkerRecord},
    error::Error,
    parts::Parts,
    refs::LocationRef,
};

const CREATE: &str = "creating the archive";
const LOCAL: &str = "writing the local definitions";

/// What an archive is opened with.
pub(crate) struct ArchiveSettings {
    pub(crate) directory: CString,
    pub(crate) name: CString,
    pub(crate) creator: CString,
    pub(crate) description: CString,
    pub(crate) machine: CString,
    pub(crate) event_chunk_bytes: u64,
    pub(crate) definition_chunk_bytes: u64,
}

/// An archive, open until it is closed or dropped.
pub(crate) struct RawArchive {
    pub(super) api: &'static Otf2,
    pub(super) handle: NonNull<OTF2_Archive>,
    open: bool,
    /// Whether it can be closed: libotf2 ends the process if it is to close an archive that it could not begin.
    begun: Cell<bool>,
    /// Dropped after `drop` has closed the archive, which uses it till then.
    processes: PinnedProcesses,
}

/// Event buffers are written whenever they are full, and the flush leaves no record of its own.
static FLUSH: OTF2_FlushCallbacks =
    OTF2_FlushCallbacks { otf2_pre_flush: Some(pre_flush), otf2_post_flush: None };

unsafe extern "C" fn pre_flush(
    _user_data: *mut c_void,
    _file_type: otf2_sys::OTF2_FileType,
    _location: otf2_sys::OTF2_LocationRef,
    _caller_data: *mut c_void,
    _final: bool,
) -> otf2_sys::OTF2_FlushType {
    otf2_sys::OTF2_FLUSH as otf2_sys::OTF2_FlushType
}

impl RawArchive {
    /// Opens the archive in this process, without a word to the others.
    pub(crate) fn open(settings: &ArchiveSettings, processes: Rc<dyn Processes>) -> Result<Self, Error> {
        let api = otf2_sys::api()?;
        silence(api);
        let open = || {
            // SAFETY: the strings are terminated and live through the call, which copies them.
            unsafe {
                api.OTF2_Archive_Open(
                    settings.directory.as_ptr(),
                    settings.name.as_ptr(),
                    otf2_sys::OTF2_FILEMODE_WRITE as otf2_sys::OTF2_FileMode,
                    settings.event_chunk_bytes,
                    settings.definition_chunk_bytes,
                    otf2_sys::OTF2_SUBSTRATE_POSIX as otf2_sys::OTF2_FileSubstrate,
                    otf2_sys::OTF2_COMPRESSION_NONE as otf2_sys::OTF2_Compression,
                )
            }
        };
        let handle = handle(api, CREATE, open)?;
        let (begun, processes) = (Cell::new(false), PinnedProcesses::new(processes));
        Ok(Self { api, handle, open: true, begun, processes })
    }

    /// Makes the archive's directories (rank 0) and begins to write (all ranks, whatever becomes of it in one of them).
    pub(crate) fn begin(&self, settings: ArchiveSettings) -> Result<(), Error> {
        let (api, raw) = (self.api, self.handle.as_ptr());
        // SAFETY: the handle is open; the table of callbacks is static.
        let flush = strictly(api, CREATE, || unsafe {
            api.OTF2_Archive_SetFlushCallbacks(raw, &raw const FLUSH, ptr::null_mut())
        });
        // SAFETY: the handle is open; the table of callbacks is static.
        let memory = strictly(api, CREATE, || unsafe {
            api.OTF2_Archive_SetMemoryCallbacks(raw, &raw const memory::CALLBACKS, ptr::null_mut())
        });
        // SAFETY: the handle is open; the table of callbacks is static; the processes are not moved until `drop` has
        // closed the archive.
        strictly(api, CREATE, || unsafe {
            api.OTF2_Archive_SetCollectiveCallbacks(
                raw,
                &raw const CALLBACKS,
                self.processes.as_user_data(),
                ptr::null_mut(),
                ptr::null_mut(),
            )
        })?;
        // SAFETY: the handle is open; the call copies the terminated string.
        let creator =
            strictly(api, CREATE, || unsafe { api.OTF2_Archive_SetCreator(raw, settings.creator.as_ptr()) });
        // SAFETY: the handle is open; the call copies the terminated string.
        let description = strictly(api, CREATE, || unsafe {
            api.OTF2_Archive_SetDescription(raw, settings.description.as_ptr())
        });
        // SAFETY: the handle is open; the call copies the terminated string.
        let machine = strictly(api, CREATE, || unsafe {
            api.OTF2_Archive_SetMachineName(raw, settings.machine.as_ptr())
        });
        // SAFETY: the handle is open.
        let events = strictly(api, CREATE, || unsafe { api.OTF2_Archive_OpenEvtFiles(raw) });
        let result = flush.and(memory).and(creator).and(description).and(machine).and(events);
        self.begun.set(result.is_ok());
        result
    }

    /// Ends the writing of events and writes a definition file for each of these locations: what the references in its
    /// events are in the global definitions, and offsets of its clock. All ranks, whatever becomes of it in one of them.
    pub(crate) fn write_local_definitions(
        &self,
        locations: &[LocationRef],
        mapping: &Mapping,
        offsets: &BTreeMap<LocationRef, Vec<ClockOffset>>,
    ) -> Result<(), Error> {
        let (api, raw) = (self.api, self.handle.as_ptr());
        // SAFETY: the handle is open.
        let events = strictly(api, LOCAL, || unsafe { api.OTF2_Archive_CloseEvtFiles(raw) });
        // SAFETY: the handle is open.
        let opened = strictly(api, LOCAL, || unsafe { api.OTF2_Archive_OpenDefFiles(raw) });
        let maps = IdMaps::new(api, mapping);
        let each = |maps: &IdMaps| {
            let of = |location: &LocationRef| offsets.get(location).map_or(&[][..], Vec::as_slice);
            locations.iter().try_for_each(|location| self.write_local(*location, maps, of(location)))
        };
        let written = maps.and_then(|maps| each(&maps));
        // SAFETY: the handle is open.
        let closed = strictly(api, LOCAL, || unsafe { api.OTF2_Archive_CloseDefFiles(raw) });
        events.and(opened).and(written).and(closed)
    }

    fn write_local(
        &self,
        location: LocationRef,
        maps: &IdMaps,
        offsets: &[ClockOffset],
    ) -> Result<(), Error> {
        let (api, raw) = (self.api, self.handle.as_ptr());
        // SAFETY: the handle is open.
        let writer = handle(api, LOCAL, || unsafe { api.OTF2_Archive_GetDefWriter(raw, location.0) })?;
        for (kind, map) in &maps.maps {
            // SAFETY: the writer and the map are open.
            strictly(api, LOCAL, || unsafe {
                api.OTF2_DefWriter_WriteMappingTable(writer.as_ptr(), *kind, map.as_ptr())
            })?;
        }
        for ClockOffset { time, offset, deviation } in offsets {
            // SAFETY: the writer is open.
            strictly(api, LOCAL, || unsafe {
                api.OTF2_DefWriter_WriteClockOffset(writer.as_ptr(), time.0, *offset, *deviation)
            })?;
        }
        // SAFETY: the writer is this archive's and is not used afterwards.
        strictly(api, LOCAL, || unsafe { api.OTF2_Archive_CloseDefWriter(raw, writer.as_ptr()) })
    }

    /// Runs `write` on the writer of the global definitions, then closes that.
    pub(super) fn with_global_definitions(
        &self,
        doing: &'static str,
        write: impl FnOnce(NonNull<OTF2_GlobalDefWriter>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (api, raw) = (self.api, self.handle.as_ptr());
        // SAFETY: the handle is open.
        let writer = handle(api, doing, || unsafe { api.OTF2_Archive_GetGlobalDefWriter(raw) })?;
        let written = write(writer);
        // SAFETY: the writer is this archive's and is not used afterwards.
        let closed =
            strictly(api, doing, || unsafe { api.OTF2_Archive_CloseGlobalDefWriter(raw, writer.as_ptr()) });
        written.and(closed)
    }

    /// Writes the kinds of markers and the markers. Without any there is no file of them.
    pub(crate) fn write_markers(&self, kinds: &[MarkerRecord], parts: &Parts) -> Result<(), Error> {
        const MARKERS: &str = "writing the markers";
        if parts.iter().all(|part| part.own.marks.is_empty()) {
            return Ok(());
        }
        let (api, raw) = (self.api, self.handle.as_ptr());
        // The format has no NUL characters.
        let text = |text: &str| CString::new(text.replace('\0', "")).unwrap_or_default();
        // SAFETY: the handle is open.
        let writer = handle(api, MARKERS, || unsafe { api.OTF2_Archive_GetMarkerWriter(raw) })?;
        let to = writer.as_ptr();
        let write = || -> Result<(), Error> {
            for (number, kind) in (0..).zip(kinds) {
                let (group, category) = (text(&kind.group), text(&kind.category));
                let severity = kind.severity as otf2_sys::OTF2_MarkerSeverity;
                // SAFETY: the writer is open; the strings are terminated and live through the call.
                strictly(api, MARKERS, || unsafe {
                    api.OTF2_MarkerWriter_WriteDefMarker(
                        to,
                        number,
                        group.as_ptr(),
                        category.as_ptr(),
                        severity,
                    )
                })?;
            }
            let scope = otf2_sys::OTF2_MARKER_SCOPE_LOCATION as otf2_sys::OTF2_MarkerScope;
            for Mark { time, location, marker, text: remark } in parts.iter().flat_map(|part| part.own.marks)
            {
                let remark = text(&remark);
                // SAFETY: the writer is open; the string is terminated and lives through the call.
                strictly(api, MARKERS, || unsafe {
                    api.OTF2_MarkerWriter_WriteMarker(
                        to,
                        time.0,
                        0,
                        marker.0,
                        scope,
                        location.0,
                        remark.as_ptr(),
                    )
                })?;
            }
            Ok(())
        };
        let written = write();
        // SAFETY: the writer is this archive's and is not used afterwards.
        let closed = strictly(api, MARKERS, || unsafe { api.OTF2_Archive_CloseMarkerWriter(raw, to) });
        written.and(closed)
    }

    /// Writes the anchor file (rank 0) and closes the archive.
    pub(crate) fn close(mut self) -> Result<(), Error> {
        self.close_once()
    }

    fn close_once(&mut self) -> Result<(), Error> {
        if !std::mem::take(&mut self.open) || !self.begun.get() {
            return Ok(());
        }
        let (api, raw) = (self.api, self.handle.as_ptr());
        // SAFETY: the handle is open and not used afterwards: `open` is false now, and both callers
        // own the archive.
        strictly(api, "closing the archive", || unsafe { api.OTF2_Archive_Close(raw) })
    }
}

impl Drop for RawArchive {
    fn drop(&mut self) {
        // An error cannot be returned from here; `close` returns it.
        let _ = self.close_once();
    }
}

/// The numbers of a process's definitions in the archive, as libotf2 takes them. Where they are the same there is no map.
struct IdMaps {
    api: &'static Otf2,
    maps: Vec<(otf2_sys::OTF2_MappingType, NonNull<otf2_sys::OTF2_IdMap>)>,
}

impl IdMaps {
    fn new(api: &'static Otf2, mapping: &Mapping) -> Result<Self, Error> {
        let Mapping { strings, attributes, regions, groups, communicators, windows, metrics, .. } = mapping;
        let tables = [
            (otf2_sys::OTF2_MAPPING_STRING, strings),
            (otf2_sys::OTF2_MAPPING_ATTRIBUTE, attributes),
            (otf2_sys::OTF2_MAPPING_REGION, regions),
            (otf2_sys::OTF2_MAPPING_GROUP, groups),
            (otf2_sys::OTF2_MAPPING_METRIC, metrics),
            (otf2_sys::OTF2_MAPPING_COMM, communicators),
            (otf2_sys::OTF2_MAPPING_RMA_WIN, windows),
        ];
        let mut all = Self { api, maps: Vec::new() };
        for (kind, table) in tables {
            if (0..).zip(table).all(|(here, there)| here == *there) {
                continue;
            }
            // SAFETY: the table has as many elements as the length passed; the call copies them.
            let map = handle(api, LOCAL, || unsafe {
                api.OTF2_IdMap_CreateFromUint32Array(table.len() as u64, table.as_ptr(), false)
            })?;
            all.maps.push((kind as otf2_sys::OTF2_MappingType, map));
        }
        Ok(all)
    }
}

impl Drop for IdMaps {
    fn drop(&mut self) {
        for (_, map) in &self.maps {
            // SAFETY: the map is from `OTF2_IdMap_CreateFromUint32Array` and not used afterwards.
            unsafe { self.api.OTF2_IdMap_Free(map.as_ptr()) };
        }
    }
}
