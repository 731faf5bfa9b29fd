//! The MPI_T events core: event types, sources, registrations and dispatch.
//!
//! This is the engine behind the `MPI_T_event_*` and `MPI_T_source_*` functions (MPI-5.0, section
//! 15.3.8; the paper's section 3). It must not know MPI: no handle type, no communicator, no rank.
//! A bound object is an opaque [`Token`]; a datatype is an [`ElementType`]. It must not know who
//! raises events nor who consumes them either: producers and consumers know only this crate.
//!
//! # The life of an event
//!
//! 1. A producer describes its event types ([`EventType`]) and control flows ([`Source`]) and adds
//!    them to the [`Core`]. Indices are dense, ascending and never change.
//! 2. A consumer allocates a registration for a type and, for types bound to an object, for one
//!    object ([`Core::alloc`]), and installs callbacks, one for each [`Safety`] level.
//! 3. The producer asks [`Core::is_active`] (one relaxed load and a branch) and, if somebody
//!    listens, opens a [`Raise`] section and raises instances in it.
//! 4. The core delivers each instance to every registration of that type and object, without
//!    holding any lock, and counts what it could not deliver.
//!
//! # Threads and signals
//!
//! | | threads | signal handlers |
//! |---|---|---|
//! | [`Instance`], while its callback runs | the one that runs it | yes |
//! | [`Core::is_active`], [`Core::version`], [`Core::active_from`], [`Object::is_active`], [`Clock`] | any | yes |
//! | [`Core::raise_section`], [`Core::raiser`], [`Raiser`] and [`Raise`] | any; they stay on their thread | at [`Safety::AsyncSignalSafe`] |
//! | all other methods of [`Core`] | any | no: they lock and allocate |
//!
//! Callbacks run on the raising thread, without any lock, and may call everything that their level
//! allows. Times are [`Ticks`] of the source's [`Clock`], sizes and displacements are bytes, lost
//! events are counted in events.
//!
//! # Example
//!
//! ```
//! use mpit_events::{event_payload, BindKind, Clock, Core, EventType, Ordering, Safety, Source, Token};
//!
//! event_payload! {
//!     /// A message of so many bytes came in.
//!     pub struct Arrived { "source" source: i32, "bytes" bytes: u64 }
//! }
//!
//! let core = Core::new();
//! let queue = core.add_source(Source::new("queue", "the example's queue", Ordering::Ordered, Clock::best()));
//! let arrived = core.add_type(EventType::of::<Arrived>("arrived", "a message came in", BindKind::None)).unwrap();
//!
//! let handle = core.alloc(arrived, None).unwrap();
//! core.set_callback(handle, Safety::MpiRestricted, |instance| {
//!     assert_eq!(instance.read::<i32>(0), Some(3));
//! }).unwrap();
//!
//! if core.is_active(arrived) {
//!     let object = core.no_object();
//!     let raise = core.raise_section(queue, Safety::MpiRestricted);
//!     raise.event(arrived, &object, core.source(queue).unwrap().now(), &Arrived { source: 3, bytes: 8 });
//! }
//! core.free(handle, None).unwrap();
//! ```

mod append_only;
mod bulk;
mod callback;
mod clock;
mod core;
mod deferred;
mod dispatch;
mod event_type;
mod grace;
mod instance;
#[cfg(all(test, loom))]
mod models;
mod object;
mod payload;
mod registration;
mod ring;
mod source;
mod sync;

pub use crate::bulk::{BulkListener, MAX_RECORD_PAYLOAD, Record};
pub use crate::callback::{DroppedFn, EventFn, FreeFn, Safety, UserData};
pub use crate::clock::{Clock, Reading, Ticks};
pub use crate::core::{Core, Producer, core};
pub use crate::deferred::{Deferred, Occurrences};
pub use crate::dispatch::{MAX_DEPTH, Prepared, Raise, Raiser};
pub use crate::event_type::{EventIndex, EventType, MAX_EVENT_TYPES, Verbosity};
pub use crate::instance::Instance;
pub use crate::object::{BindKind, Object, Token};
pub use crate::payload::{Element, ElementType, ElementValue, Payload};
pub use crate::registration::{Error, Registration};
pub use crate::ring::Ring;
pub use crate::source::{Ordering, Source, SourceIndex};

#[doc(hidden)]
pub use bytemuck;
