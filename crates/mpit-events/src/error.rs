//! What can go wrong in the core; the C ABI maps each to an MPI_T error class.

/// An error of the events core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An event type or source index outside `0..num` (`MPI_T_ERR_INVALID_INDEX`).
    #[error("no event type or source has this index")]
    InvalidIndex,
    /// No event type of this name (`MPI_T_ERR_INVALID_NAME`).
    #[error("no event type has this name")]
    InvalidName,
    /// A registration that was freed or never existed, or no callback at this level
    /// (`MPI_T_ERR_INVALID_HANDLE`).
    #[error("the registration is not valid (freed, or never allocated)")]
    InvalidHandle,
    /// The event type is bound to an object and none was given (`MPI_T_ERR_INVALID_HANDLE`).
    #[error("this event type is bound to an object: give the object")]
    ObjectNeeded,
    /// More event types or registrations than the core can hold (`MPI_T_ERR_OUT_OF_HANDLES`).
    #[error("the limit of event types or registrations is reached")]
    OutOfHandles,
    /// The source has no clock that can be read at any time (`MPI_T_ERR_NOT_SUPPORTED`).
    #[error("this source cannot give a time stamp on demand")]
    NotSupported,
}
