//! Bound objects: what a registration listens to, as an opaque token.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::event_type::{EventIndex, EventType, MAX_EVENT_TYPES};
use crate::registration::Inner;
use crate::sync::{Alive, AtomicPtr, AtomicUsize, Ordering, exclusive, shared_array};

/// The kind of MPI object that an event type is bound to (`MPI_T_BIND_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the names are MPI's own")]
pub enum BindKind {
    None,
    Comm,
    Datatype,
    Errhandler,
    File,
    Group,
    Op,
    Request,
    Win,
    Message,
    Info,
    Session,
}

impl BindKind {
    /// The name of the handle's type in MPI; empty for none.
    pub fn mpi_name(self) -> &'static str {
        match self {
            BindKind::None => "",
            BindKind::Comm => "MPI_COMM",
            BindKind::Datatype => "MPI_DATATYPE",
            BindKind::Errhandler => "MPI_ERRHANDLER",
            BindKind::File => "MPI_FILE",
            BindKind::Group => "MPI_GROUP",
            BindKind::Op => "MPI_OP",
            BindKind::Request => "MPI_REQUEST",
            BindKind::Win => "MPI_WIN",
            BindKind::Message => "MPI_MESSAGE",
            BindKind::Info => "MPI_INFO",
            BindKind::Session => "MPI_SESSION",
        }
    }
}

/// The identity of an object: an opaque number, only compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Token(pub u64);

/// Some registrations, each once.
pub(crate) type Registrations = SmallVec<[Arc<Inner>; 2]>;

/// The registrations of one event type on one object. Immutable: a change publishes a new list.
#[derive(Debug)]
pub(crate) struct List {
    /// Most often there is one, which is then stored in the list itself.
    pub(crate) registrations: Registrations,
    /// Their event type, here so that raising need not find it.
    pub(crate) event_type: Arc<EventType>,
    pub(crate) alive: Alive,
}

/// An object that events happen to. Its producer keeps it for as long as the object lives
/// ([`Core::bind`](crate::Core::bind)); each registration on it does so too.
#[derive(Debug)]
pub struct Object {
    pub(crate) kind: BindKind,
    pub(crate) token: Token,
    /// Whether anybody has ever listened: most objects of a program that makes and frees many have no lists to be dropped.
    listened: AtomicUsize,
    lists: [AtomicPtr<List>; MAX_EVENT_TYPES],
}

impl Object {
    pub(crate) fn new(kind: BindKind, token: Token) -> Arc<Self> {
        let lists = shared_array![AtomicPtr::new(std::ptr::null_mut()); MAX_EVENT_TYPES];
        Arc::new(Object { kind, token, listened: AtomicUsize::new(0), lists })
    }

    /// The identity that the object was bound with.
    #[inline]
    pub fn token(&self) -> Token {
        self.token
    }

    /// Whether anybody listens to this event on this object. Thread-safe and signal-safe.
    #[inline]
    pub fn is_active(&self, event: EventIndex) -> bool {
        !self.lists[event.get()].load(Ordering::Relaxed).is_null()
    }

    /// The registrations of `event` on this object, to be read inside a raise section.
    #[inline]
    pub(crate) fn list(&self, event: EventIndex) -> *const List {
        // SeqCst pairs with the swap below: a raise section that the grace period has not seen
        // sees the new list.
        // An index of a type is always below `MAX_EVENT_TYPES`: the modulo avoids a bounds check.
        self.lists[event.get() % MAX_EVENT_TYPES].load(Ordering::SeqCst)
    }

    /// Publishes a new list and returns the old one, which may still be read.
    pub(crate) fn publish(&self, event: EventIndex, list: Option<Box<List>>) -> Option<Box<List>> {
        // Relaxed: read only by the one who drops the object, after everybody has let go of it.
        self.listened.store(1, Ordering::Relaxed);
        let new = list.map_or(std::ptr::null_mut(), Box::into_raw);
        let old = self.lists[event.get()].swap(new, Ordering::SeqCst);
        // SAFETY: the pointer came from `Box::into_raw` in an earlier `publish`, and the swap gave
        // it to us alone. The caller keeps the box until no raise section can still read it.
        (!old.is_null()).then(|| unsafe { Box::from_raw(old) })
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        if self.listened.load(Ordering::Relaxed) == 0 {
            return;
        }
        for list in &mut self.lists {
            let list = exclusive(list);
            if !list.is_null() {
                // SAFETY: we own the object alone, so nobody reads its lists; the pointer came
                // from `Box::into_raw` in `publish`.
                drop(unsafe { Box::from_raw(list) });
            }
        }
    }
}
