//! The thirteen events of osc/rdma: names, payloads, descriptions.

use mpit_events::{BindKind, Core, Error, EventIndex, EventType, Verbosity, event_payload};

event_payload! {
    /// The events about one target of a window, or all (−1).
    pub struct Targeted { "target" target: i32 }
}
event_payload! {
    /// The events of an operation: the target's rank in the window, the address there, and the bytes that move.
    #[derive(Default, Eq)]
    pub struct Moved { "target" target: i32, "" unused: u32, "address" address: u64, "size" size: u64 }
}

impl Moved {
    /// So many bytes move between this process and this address of the target.
    #[inline(always)]
    pub(super) const fn new(target: i32, address: u64, size: u64) -> Moved {
        Moved { target, unused: 0, address, size }
    }
}

macro_rules! events {
    ($($variant:ident $name:literal $payload:ty, $description:literal;)*) => {
        /// The events, in the order of the prototype.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Event { $(#[doc = $description] $variant),* }

        impl Event {
            /// All events, in order.
            pub const ALL: [Event; 13] = [$(Event::$variant),*];

            /// The event's name.
            pub fn name(self) -> &'static str {
                match self { $(Event::$variant => concat!("osc_rdma_", $name)),* }
            }

            fn event_type(self) -> EventType {
                let name = self.name();
                let event_type = match self {
                    $(Event::$variant => EventType::of::<$payload>(name, $description, BindKind::Win)),*
                };
                event_type.of_verbosity(Verbosity::TunerBasic)
            }
        }
    };
}
events! {
    LockAcquired "lock_acquired" Targeted, "A lock of a target, or of all (-1), was granted.";
    LockReleased "lock_released" Targeted, "A lock of a target, or of all (-1), was given back.";
    PutStarted "put_started" Moved, "An operation that writes to a target was started.";
    PutComplete "put_complete" Moved, "An operation that writes to a target is complete.";
    GetStarted "get_started" Moved, "An operation that brings data from a target was started.";
    GetComplete "get_complete" Moved, "An operation that brings data from a target is complete.";
    FlushStarted "flush_started" Targeted, "A flush of the operations on a target, or on all (-1), begins.";
    FlushComplete "flush_complete" Targeted, "A flush of the operations on a target, or on all (-1), ends.";
    PscwExposeStart "pscw_expose_start" (), "An exposure epoch was opened (MPI_Win_post).";
    PscwExposeComplete "pscw_expose_complete" (), "An exposure epoch was completed (MPI_Win_wait, MPI_Win_test).";
    PscwAccessStart "pscw_access_start" Targeted, "An access epoch to a target was opened (MPI_Win_start).";
    PscwAccessComplete "pscw_access_complete" Targeted, "An access epoch to a target was completed (MPI_Win_complete).";
    Fence "fence" (), "A fence was passed.";
}

/// Bits of events, `1 << event`.
pub(super) type Events = u32;

impl Event {
    /// Its bit.
    pub(super) const fn bit(self) -> Events {
        1 << self as u8
    }
}

/// The events' indices in a core.
#[derive(Clone, Copy, Debug)]
pub struct RmaEvents([EventIndex; 13]);

impl RmaEvents {
    /// Adds the thirteen types to a core.
    ///
    /// # Errors
    /// [`Error::OutOfHandles`] when the core is full.
    pub fn register(core: &Core) -> Result<Self, Error> {
        let mut indices = Vec::with_capacity(Event::ALL.len());
        for event in Event::ALL {
            indices.push(core.add_type(event.event_type())?);
        }
        indices.try_into().map(RmaEvents).map_err(|_| Error::OutOfHandles)
    }

    /// The index of an event.
    #[inline]
    pub fn index(&self, event: Event) -> EventIndex {
        self.0[event as usize]
    }

    /// Those to which somebody listens, on any window.
    pub(super) fn active(&self, core: &Core) -> Events {
        let bit = |event: Event| if core.is_active(self.index(event)) { event.bit() } else { 0 };
        Event::ALL.into_iter().map(bit).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_types_have_the_documented_layout() {
        let core = Core::new();
        let events = RmaEvents::register(&core).unwrap();
        let layout = |event: Event| {
            let event_type = core.event_type(events.index(event)).unwrap();
            assert_eq!(event_type.bind, BindKind::Win);
            let elements: Vec<_> =
                event_type.elements.iter().map(|e| format!("{}@{}", e.name, e.displacement)).collect();
            (event_type.name.as_str().to_owned(), elements.join(" "), event_type.extent)
        };
        assert_eq!(
            layout(Event::PutComplete),
            ("osc_rdma_put_complete".into(), "target@0 address@8 size@16".into(), 24)
        );
        assert_eq!(layout(Event::LockAcquired), ("osc_rdma_lock_acquired".into(), "target@0".into(), 4));
        assert_eq!(layout(Event::Fence), ("osc_rdma_fence".into(), String::new(), 0));
        assert_eq!(core.num_types(), 13);
    }
}
