//! What is known of MPIs' event types beyond what they say themselves: how their elements are called, and which
//! event of the prototype means the same.
//!
//! MPIs may give their elements names, and none does (`MPI_T_event_get_info`, MPI-5.0, section 15.3.8). A type
//! that is not here, or has another number of elements, is taken over as it is.

/// A type of some MPI.
pub(super) struct Known {
    name: &'static str,
    /// Its elements, in the order of the MPI's.
    pub(super) elements: &'static [&'static str],
    /// The event of the prototype that means the same; empty for none.
    pub(super) means: &'static str,
}

const fn known(name: &'static str, elements: &'static [&'static str], means: &'static str) -> Known {
    Known { name, elements, means }
}

/// Open MPI's since version 6; MPICH's since version 4.
const KNOWN: [Known; 11] = [
    known("ompi.mpi.initialization", &["model", "thread level", "world rank", "world size", "instance"], ""),
    known("ompi.mpi.finalization", &["model", "world rank", "instance"], ""),
    known("ompi.mpi.communicator_created", &["size", "handle"], ""),
    known("ompi.mpi.communicator_freed", &["handle"], ""),
    known("ompi.mpi.communicator_name_set", &["handle"], ""),
    known(
        "ompi.mpi.errhandler_invoked",
        &["error code", "object type", "error handler", "object handle"],
        "",
    ),
    known("ompi.mpi.win_created", &["size", "displacement unit", "flavor", "handle"], ""),
    known("ompi.mpi.win_freed", &["flavor", "handle"], ""),
    known("ompi.mca.memory.patcher.released", &["count", "bytes"], ""),
    known("unexp_message_enqueued", &["source", "context"], "pml_ob1_unex_insert"),
    known("unexp_message_dequeued", &["source", "context"], "pml_ob1_unex_remove"),
];

/// What is known of the type of this name and so many elements.
pub(super) fn of(name: &str, elements: usize) -> Option<&'static Known> {
    KNOWN.iter().find(|known| known.name == name && known.elements.len() == elements)
}

#[cfg(test)]
mod tests {
    use mpit_events::Core;

    use super::*;
    use crate::matching::Ob1Events;

    #[test]
    fn a_type_is_known_by_name_and_number_of_elements() {
        assert_eq!(of("ompi.mpi.win_freed", 2).map(|known| known.elements), Some(&["flavor", "handle"][..]));
        assert!(of("ompi.mpi.win_freed", 3).is_none());
        assert!(of("ompi.mpi.session_created", 1).is_none());
    }

    #[test]
    fn what_means_the_same_is_an_event_of_the_prototype() {
        let core = Core::new();
        Ob1Events::register(&core, "").unwrap();
        let named: Vec<&str> =
            KNOWN.iter().map(|known| known.means).filter(|means| !means.is_empty()).collect();
        assert_eq!(named.len(), 2);
        assert!(named.iter().all(|name| core.type_by_name(name).is_ok()), "{named:?}");
    }
}
