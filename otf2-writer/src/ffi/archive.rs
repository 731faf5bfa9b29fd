//! The archive's handle.

use std::{
    collections::BTreeMap,
    ffi::{CString, c_void},
    ptr::{self, NonNull},
};

use otf2_sys::{OTF2_Archive, OTF2_FlushCallbacks, OTF2_GlobalDefWriter, Otf2};

use super::{
    collectives::{CALLBACKS, PinnedCollectives},
    errors::{handle, silence, strictly},
    memory,
};
use crate::{
    clock::ClockOffset,
    collectives::Collectives,
    definitions::{Definitions, Mark},
    error::Error,
    refs::LocationRef,
};

/// What an archive is opened with.
pub(crate) struct ArchiveSettings {
    pub(crate) directory: CString,
    pub(crate) name: CString,
    pub(crate) creator: CString,
    pub(crate) description: CString,
    pub(crate) machine: CString,
    pub(crate) event_chunk_bytes: u64,
    pub(crate) definition_chunk_bytes: u64,
    pub(crate) collectives: Box<dyn Collectives>,
}

/// An archive, open until it is closed or dropped.
pub(crate) struct RawArchive {
    pub(super) api: &'static Otf2,
    pub(super) handle: NonNull<OTF2_Archive>,
    open: bool,
    /// Dropped after `drop` has closed the archive, which uses it till then.
    collectives: PinnedCollectives,
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
    /// Makes the archive's directories (rank 0) and opens it for writing (all ranks).
    pub(crate) fn create(settings: ArchiveSettings) -> Result<Self, Error> {
        const CREATE: &str = "creating the archive";
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
        let collectives = PinnedCollectives::new(settings.collectives);
        let archive = Self { api, handle, open: true, collectives };
        let raw = archive.handle.as_ptr();
        // SAFETY: the handle is open; the table of callbacks is static.
        strictly(api, CREATE, || unsafe {
            api.OTF2_Archive_SetFlushCallbacks(raw, &raw const FLUSH, ptr::null_mut())
        })?;
        // SAFETY: the handle is open; the table of callbacks is static.
        strictly(api, CREATE, || unsafe {
            api.OTF2_Archive_SetMemoryCallbacks(raw, &raw const memory::CALLBACKS, ptr::null_mut())
        })?;
        // SAFETY: the handle is open; the table of callbacks is static; the collectives are not moved until `drop` has
        // closed the archive.
        strictly(api, CREATE, || unsafe {
            api.OTF2_Archive_SetCollectiveCallbacks(
                raw,
                &raw const CALLBACKS,
                archive.collectives.as_user_data(),
                ptr::null_mut(),
                ptr::null_mut(),
            )
        })?;
        // SAFETY: the handle is open; the call copies the terminated string.
        strictly(api, CREATE, || unsafe { api.OTF2_Archive_SetCreator(raw, settings.creator.as_ptr()) })?;
        // SAFETY: the handle is open; the call copies the terminated string.
        strictly(api, CREATE, || unsafe {
            api.OTF2_Archive_SetDescription(raw, settings.description.as_ptr())
        })?;
        // SAFETY: the handle is open; the call copies the terminated string.
        strictly(api, CREATE, || unsafe { api.OTF2_Archive_SetMachineName(raw, settings.machine.as_ptr()) })?;
        // SAFETY: the handle is open.
        strictly(api, CREATE, || unsafe { api.OTF2_Archive_OpenEvtFiles(raw) })?;
        Ok(archive)
    }

    pub(crate) fn collectives(&self) -> &dyn Collectives {
        self.collectives.get()
    }

    /// Ends the writing of events and writes a definition file for each of these locations, which
    /// has only offsets of its clock: all references in the events are those of the global definitions.
    pub(crate) fn write_local_definitions(
        &self,
        locations: &[LocationRef],
        offsets: &BTreeMap<LocationRef, Vec<ClockOffset>>,
    ) -> Result<(), Error> {
        const LOCAL: &str = "writing the local definitions";
        let (api, raw) = (self.api, self.handle.as_ptr());
        // SAFETY: the handle is open.
        strictly(api, LOCAL, || unsafe { api.OTF2_Archive_CloseEvtFiles(raw) })?;
        // SAFETY: the handle is open.
        strictly(api, LOCAL, || unsafe { api.OTF2_Archive_OpenDefFiles(raw) })?;
        for location in locations {
            // SAFETY: the handle is open.
            let writer = handle(api, LOCAL, || unsafe { api.OTF2_Archive_GetDefWriter(raw, location.0) })?;
            for ClockOffset { time, offset, deviation } in offsets.get(location).into_iter().flatten() {
                // SAFETY: the writer is open.
                strictly(api, LOCAL, || unsafe {
                    api.OTF2_DefWriter_WriteClockOffset(writer.as_ptr(), time.0, *offset, *deviation)
                })?;
            }
            // SAFETY: the writer is this archive's and is not used afterwards.
            strictly(api, LOCAL, || unsafe { api.OTF2_Archive_CloseDefWriter(raw, writer.as_ptr()) })?;
        }
        // SAFETY: the handle is open.
        strictly(api, LOCAL, || unsafe { api.OTF2_Archive_CloseDefFiles(raw) })
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
    pub(crate) fn write_markers(&self, definitions: &Definitions) -> Result<(), Error> {
        const MARKERS: &str = "writing the markers";
        if definitions.marks.is_empty() {
            return Ok(());
        }
        let (api, raw) = (self.api, self.handle.as_ptr());
        // The format has no NUL characters.
        let text = |text: &str| CString::new(text.replace('\0', "")).unwrap_or_default();
        // SAFETY: the handle is open.
        let writer = handle(api, MARKERS, || unsafe { api.OTF2_Archive_GetMarkerWriter(raw) })?;
        let to = writer.as_ptr();
        let write = || -> Result<(), Error> {
            for (number, kind) in (0..).zip(&definitions.markers) {
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
            for Mark { time, location, marker, text: remark } in &definitions.marks {
                let remark = text(remark);
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
        if !std::mem::take(&mut self.open) {
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
