//! The generic logger: any event type, by its description in the events core.

use mpit_events::{Core, Error, EventIndex, EventType, Registration, Safety, Token};

use super::recorder::Recorder;
use mel_log::{Definition, Element, kind};

/// Writes the description of an event type into the log.
pub fn define(recorder: &Recorder, event: EventIndex, event_type: &EventType) {
    let elements = event_type.elements.iter().map(|element| Element {
        name: element.name.to_string(),
        datatype: element.datatype.mpi_name().into(),
        displacement: element.displacement as u32,
    });
    recorder.define(&Definition::EventType {
        number: event.get() as u16,
        name: event_type.name.clone(),
        description: event_type.description.clone(),
        bind: event_type.bind.mpi_name().into(),
        elements: elements.collect(),
    });
}

/// Records every instance of `event` on the object, whose number in the log is `object`, until the registration is
/// freed.
///
/// # Errors
/// Those of the events core.
pub fn listen(
    recorder: &'static Recorder,
    core: &Core,
    event: EventIndex,
    token: Option<Token>,
    object: u16,
) -> Result<Registration, Error> {
    let number = kind::EVENT + event.get() as u16;
    let handle = core.alloc(event, token)?;
    core.set_callback(handle, Safety::ThreadSafe, move |instance| {
        recorder.event(instance.source(), instance.ticks(), number, object, instance.payload());
    })?;
    Ok(handle)
}
