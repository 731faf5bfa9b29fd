//! Definitions, from memory to the archive, each kind after the kinds that it refers to.

use std::{
    ffi::{CStr, CString},
    ptr::NonNull,
};

use otf2_sys::{
    OTF2_AttributeValue, OTF2_COMM_FLAG_CREATE_DESTROY_EVENTS, OTF2_COMM_FLAG_NONE, OTF2_ErrorCode,
    OTF2_GROUP_FLAG_NONE, OTF2_GlobalDefWriter, OTF2_REGION_FLAG_NONE,
    OTF2_RMA_WIN_FLAG_CREATE_DESTROY_EVENTS, OTF2_RMA_WIN_FLAG_NONE, OTF2_UNDEFINED_COMM,
    OTF2_UNDEFINED_LOCATION_GROUP, OTF2_UNDEFINED_SYSTEM_TREE_NODE, OTF2_UNDEFINED_TIMESTAMP, Otf2,
};

use super::{archive::RawArchive, errors::strictly};
use crate::{
    clock::{Clock, Ticks},
    definitions::{Owner, PropertyRecord, Shared},
    error::Error,
    parts::{Part, Parts},
    value::Type,
};

const WRITE: &str = "writing the definitions";

/// Writes all definitions: those that are shared, and those of each process.
pub(crate) fn write_definitions(
    archive: &RawArchive,
    shared: &Shared,
    clock: &Clock,
    parts: &Parts,
) -> Result<(), Error> {
    archive.with_global_definitions(WRITE, |handle| {
        let mut writer = Writer { api: archive.api, handle, definitions: shared, strings: 0 };
        writer.clock(clock, parts.span())?;
        writer.strings()?;
        writer.attributes()?;
        writer.paradigms()?;
        writer.system_tree()?;
        for part in parts.iter() {
            writer.part(&part)?;
        }
        writer.regions()?;
        writer.groups()?;
        writer.communicators()?;
        writer.windows()?;
        writer.metrics()
    })
}

struct Writer<'a> {
    api: &'static Otf2,
    handle: NonNull<OTF2_GlobalDefWriter>,
    definitions: &'a Shared,
    /// How many strings there are.
    strings: u32,
}

impl Writer<'_> {
    /// Makes one call on the writer.
    ///
    /// SAFETY of the calls made through it: the handle is open for the life of the `Writer`, and
    /// what the pointers among the other arguments point to lives, in the length given, through the
    /// call, which copies it.
    fn call(
        &self,
        call: impl FnOnce(&Otf2, *mut OTF2_GlobalDefWriter) -> OTF2_ErrorCode,
    ) -> Result<(), Error> {
        strictly(self.api, WRITE, || call(self.api, self.handle.as_ptr()))
    }

    fn clock(&self, clock: &Clock, span: Option<(Ticks, Ticks)>) -> Result<(), Error> {
        let (first, last) = span.unwrap_or_default();
        let start = clock.start.unwrap_or(first).0;
        let end = clock.end.unwrap_or(last).0.max(start);
        let length = end - start + u64::from(end - start < u64::MAX);
        let realtime = clock.start_unix_nanos.unwrap_or(OTF2_UNDEFINED_TIMESTAMP);
        // SAFETY: the writer is open, and the pointers among the arguments live through the call.
        self.call(|api, writer| unsafe {
            api.OTF2_GlobalDefWriter_WriteClockProperties(
                writer,
                clock.ticks_per_second,
                start,
                length,
                realtime,
            )
        })
    }

    fn strings(&mut self) -> Result<(), Error> {
        self.definitions.strings.iter().try_for_each(|(_, text)| self.string(text).map(drop))
    }

    /// Writes a string behind those that are there; gives its number.
    fn string(&mut self, text: &CStr) -> Result<u32, Error> {
        let number = self.strings;
        self.strings += 1;
        // SAFETY: the writer is open, and the pointers among the arguments live through the call.
        self.call(|api, writer| unsafe {
            api.OTF2_GlobalDefWriter_WriteString(writer, number, text.as_ptr())
        })?;
        Ok(number)
    }

    fn attributes(&self) -> Result<(), Error> {
        for (number, record) in (0..).zip(&self.definitions.attributes) {
            // SAFETY: the writer is open, and the pointers among the arguments live through the call.
            self.call(|api, writer| unsafe {
                api.OTF2_GlobalDefWriter_WriteAttribute(
                    writer,
                    number,
                    record.name.0,
                    record.description.0,
                    record.value_type as u8,
                )
            })?;
        }
        Ok(())
    }

    fn paradigms(&self) -> Result<(), Error> {
        for record in &self.definitions.paradigms {
            // SAFETY: the writer is open, and the pointers among the arguments live through the call.
            self.call(|api, writer| unsafe {
                api.OTF2_GlobalDefWriter_WriteParadigm(
                    writer,
                    record.paradigm as u8,
                    record.name.0,
                    record.class as u8,
                )
            })?;
            if let Some(template) = record.comm_name_template {
                // SAFETY: the writer is open; the pointers live through the call, and the value has the type passed with it.
                self.call(|api, writer| unsafe {
                    api.OTF2_GlobalDefWriter_WriteParadigmProperty(
                        writer,
                        record.paradigm as u8,
                        otf2_sys::OTF2_PARADIGM_PROPERTY_COMM_NAME_TEMPLATE as u8,
                        Type::String as u8,
                        OTF2_AttributeValue { stringRef: template.0 },
                    )
                })?;
            }
        }
        Ok(())
    }

    fn system_tree(&self) -> Result<(), Error> {
        for (number, record) in (0..).zip(&self.definitions.system_tree) {
            let parent = record.parent.map_or(OTF2_UNDEFINED_SYSTEM_TREE_NODE, |node| node.0);
            // SAFETY: the writer is open, and the pointers among the arguments live through the call.
            self.call(|api, writer| unsafe {
                api.OTF2_GlobalDefWriter_WriteSystemTreeNode(
                    writer,
                    number,
                    record.name.0,
                    record.class.0,
                    parent,
                )
            })?;
            for &domain in &record.domains {
                // SAFETY: the writer is open, and the pointers among the arguments live through the call.
                self.call(|api, writer| unsafe {
                    api.OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain(writer, number, domain as u8)
                })?;
            }
        }
        for PropertyRecord { owner, name, value } in &self.definitions.node_properties {
            let (name, kind, value) = (name.0, value.value_type() as u8, value.to_raw());
            // SAFETY: the writer is open; the pointers live through the call, and the value has the type passed with it.
            self.call(|api, writer| unsafe {
                api.OTF2_GlobalDefWriter_WriteSystemTreeNodeProperty(writer, owner.0, name, kind, value)
            })?;
        }
        Ok(())
    }

    /// The locations of a process. Their names are strings that nothing else refers to.
    fn part(&mut self, part: &Part) -> Result<(), Error> {
        let text = |text: &str| CString::new(text).unwrap_or_default();
        for record in &part.own.location_groups {
            let creator = record.creator.map_or(OTF2_UNDEFINED_LOCATION_GROUP, |group| group.0);
            let name = self.string(&text(&record.name))?;
            // SAFETY: the writer is open, and the pointers among the arguments live through the call.
            self.call(|api, writer| unsafe {
                api.OTF2_GlobalDefWriter_WriteLocationGroup(
                    writer,
                    record.reference.0,
                    name,
                    record.kind as u8,
                    record.node.0,
                    creator,
                )
            })?;
        }
        for (record, events) in part.own.locations.iter().zip(&part.events) {
            let name = self.string(&text(&record.name))?;
            // SAFETY: the writer is open, and the pointers among the arguments live through the call.
            self.call(|api, writer| unsafe {
                api.OTF2_GlobalDefWriter_WriteLocation(
                    writer,
                    record.reference.0,
                    name,
                    record.kind as u8,
                    *events,
                    record.group.0,
                )
            })?;
        }
        for PropertyRecord { owner, name, value } in &part.own.properties {
            let (name, kind, value) = (name.0, value.value_type() as u8, value.to_raw());
            // SAFETY: the writer is open; the pointers live through the call, and the value has the type passed with it.
            self.call(|api, writer| unsafe {
                match owner {
                    Owner::LocationGroup(owner) => api
                        .OTF2_GlobalDefWriter_WriteLocationGroupProperty(writer, owner.0, name, kind, value),
                    Owner::Location(owner) => {
                        api.OTF2_GlobalDefWriter_WriteLocationProperty(writer, owner.0, name, kind, value)
                    }
                }
            })?;
        }
        Ok(())
    }

    fn regions(&self) -> Result<(), Error> {
        for (number, record) in (0..).zip(&self.definitions.regions) {
            // SAFETY: the writer is open, and the pointers among the arguments live through the call.
            self.call(|api, writer| unsafe {
                api.OTF2_GlobalDefWriter_WriteRegion(
                    writer,
                    number,
                    record.name.0,
                    record.canonical_name.0,
                    record.description.0,
                    record.role as u8,
                    record.paradigm as u8,
                    OTF2_REGION_FLAG_NONE,
                    record.source_file.0,
                    record.source_lines.0,
                    record.source_lines.1,
                )
            })?;
        }
        Ok(())
    }

    fn groups(&self) -> Result<(), Error> {
        for (number, record) in (0..).zip(&self.definitions.groups) {
            let numbers: Vec<u64> = record.members.iter().collect();
            // A group of more than `u32::MAX` members would not fit the chunk, so the saturated
            // value makes libotf2 refuse it.
            let members = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
            // SAFETY: the writer is open, and the pointers among the arguments live through the call.
            self.call(|api, writer| unsafe {
                api.OTF2_GlobalDefWriter_WriteGroup(
                    writer,
                    number,
                    record.name.0,
                    record.kind,
                    record.paradigm as u8,
                    OTF2_GROUP_FLAG_NONE,
                    members,
                    numbers.as_ptr(),
                )
            })?;
        }
        Ok(())
    }

    fn communicators(&self) -> Result<(), Error> {
        for (number, record) in (0..).zip(&self.definitions.communicators) {
            let parent = record.parent.map_or(OTF2_UNDEFINED_COMM, |comm| comm.0);
            let flags = if record.create_destroy_events {
                OTF2_COMM_FLAG_CREATE_DESTROY_EVENTS
            } else {
                OTF2_COMM_FLAG_NONE
            };
            // SAFETY: the writer is open, and the pointers among the arguments live through the call.
            self.call(|api, writer| unsafe {
                match record.other_group {
                    None => api.OTF2_GlobalDefWriter_WriteComm(
                        writer,
                        number,
                        record.name.0,
                        record.group.0,
                        parent,
                        flags,
                    ),
                    Some(other) => api.OTF2_GlobalDefWriter_WriteInterComm(
                        writer,
                        number,
                        record.name.0,
                        record.group.0,
                        other.0,
                        parent,
                        flags,
                    ),
                }
            })?;
        }
        Ok(())
    }

    fn windows(&self) -> Result<(), Error> {
        for (number, record) in (0..).zip(&self.definitions.windows) {
            let flags = if record.create_destroy_events {
                OTF2_RMA_WIN_FLAG_CREATE_DESTROY_EVENTS
            } else {
                OTF2_RMA_WIN_FLAG_NONE
            };
            // SAFETY: the writer is open, and the pointers among the arguments live through the call.
            self.call(|api, writer| unsafe {
                api.OTF2_GlobalDefWriter_WriteRmaWin(writer, number, record.name.0, record.comm.0, flags)
            })?;
        }
        Ok(())
    }

    fn metrics(&self) -> Result<(), Error> {
        for (number, record) in (0..).zip(&self.definitions.metric_members) {
            // SAFETY: the writer is open, and the pointers among the arguments live through the call.
            self.call(|api, writer| unsafe {
                api.OTF2_GlobalDefWriter_WriteMetricMember(
                    writer,
                    number,
                    record.name.0,
                    record.description.0,
                    record.origin as u8,
                    record.mode as u8,
                    record.value_type as u8,
                    record.base as u8,
                    record.exponent,
                    record.unit.0,
                )
            })?;
        }
        for (number, record) in (0..).zip(&self.definitions.metric_classes) {
            let members: Vec<u32> = record.members.iter().map(|member| member.0).collect();
            let count = u8::try_from(members.len())
                .ok()
                .filter(|&count| count > 0)
                .ok_or(Error::MetricSize(members.len()))?;
            // SAFETY: the writer is open, and the pointers among the arguments live through the call.
            self.call(|api, writer| unsafe {
                api.OTF2_GlobalDefWriter_WriteMetricClass(
                    writer,
                    number,
                    count,
                    members.as_ptr(),
                    record.occurrence as u8,
                    record.recorder as u8,
                )
            })?;
        }
        Ok(())
    }
}
