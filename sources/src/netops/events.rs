//! The event type: its name, payload and description.

use mpit_events::{BindKind, Core, Error, EventIndex, EventType, Verbosity, event_payload};

/// The event's name.
pub const NAME: &str = "btl_netop";
/// Its name in the paper's prototype, by which it is found too.
pub const ALIAS: &str = "event_netop_rdma";

/// The target where it is not known.
pub const UNKNOWN: i32 = -1;

const DESCRIPTION: &str = "The MPI library has moved data below the calls. Operation: 0 put, 1 get, 2 send, 3 receive, 4 CMA read, \
                           5 CMA write, 6 atomic; with --inside, what the library hands over to UCX: 7 message, 8 put, 9 get, 10 atomic; \
                           target: rank in MPI_COMM_WORLD, or -1; sizes in bytes; addresses are 0 where there is none.";

event_payload! {
    /// Data that has moved by one operation of a transport.
    #[derive(Eq)]
    pub struct NetOp {
        "operation" operation: i32,
        "target rank" target: i32,
        "size" size: u64,
        "local address" local: u64,
        "remote address" remote: u64,
    }
}

/// What a transport does. The numbers are the element `operation`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum Operation {
    /// Data goes into the target's memory, by a network card.
    Put = 0,
    /// Data comes from the target's memory, by a network card.
    Get = 1,
    /// Data goes into a connection to the target.
    Send = 2,
    /// Data comes out of a connection to the target.
    Receive = 3,
    /// This process reads the memory of the target, of the same node.
    CmaRead = 4,
    /// This process writes to the memory of the target, of the same node.
    CmaWrite = 5,
    /// An atomic operation on the target's memory, by a network card.
    Atomic = 6,
    /// A message for the target, as the library hands it over to UCX, which sends it by operations as above, or by shared memory.
    Message = 7,
    /// A put, likewise.
    MessagePut = 8,
    /// A get, likewise.
    MessageGet = 9,
    /// An atomic operation, likewise.
    MessageAtomic = 10,
}

impl Operation {
    /// All, in the order of their numbers.
    pub const ALL: [Operation; 11] = [
        Operation::Put,
        Operation::Get,
        Operation::Send,
        Operation::Receive,
        Operation::CmaRead,
        Operation::CmaWrite,
        Operation::Atomic,
        Operation::Message,
        Operation::MessagePut,
        Operation::MessageGet,
        Operation::MessageAtomic,
    ];

    /// The operation of this number.
    pub fn of(number: i32) -> Option<Operation> {
        Operation::ALL.get(usize::try_from(number).ok()?).copied()
    }

    /// Whether data flows from the target to this process.
    pub const fn is_inward(self) -> bool {
        matches!(self, Operation::Get | Operation::Receive | Operation::CmaRead | Operation::MessageGet)
    }

    /// Whether it is what a library hands over to UCX, whose bytes the other operations may move.
    pub const fn is_handed_over(self) -> bool {
        self as i32 >= Operation::Message as i32
    }
}

/// Adds the event type to a core, by both names.
///
/// # Errors
/// [`Error::OutOfHandles`] when the core is full.
pub fn register(core: &Core) -> Result<EventIndex, Error> {
    let of = EventType::of::<NetOp>(NAME, DESCRIPTION, BindKind::None).of_verbosity(Verbosity::TunerAll);
    let event = core.add_type(of)?;
    core.add_alias(ALIAS, event)?;
    Ok(event)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_type_has_the_documented_layout_and_two_names() {
        let core = Core::new();
        let event = register(&core).unwrap();
        assert_eq!(register(&core), Ok(event));
        assert_eq!(core.num_types(), 1);
        for name in ["btl_netop", "event_netop_rdma", "ompi_event_netop_rdma"] {
            assert_eq!(core.type_by_name(name), Ok(event), "{name}");
        }
        let event_type = core.event_type(event).unwrap();
        let elements: Vec<_> =
            event_type.elements.iter().map(|e| format!("{}@{}", e.name, e.displacement)).collect();
        assert_eq!(
            elements,
            ["operation@0", "target rank@4", "size@8", "local address@16", "remote address@24"]
        );
        assert_eq!((event_type.extent, event_type.bind), (32, BindKind::None));
    }

    #[test]
    fn operations_have_their_numbers() {
        for operation in Operation::ALL {
            assert_eq!(Operation::of(operation as i32), Some(operation));
        }
        assert_eq!((Operation::of(11), Operation::of(-1)), (None, None));
        let inward: Vec<i32> =
            Operation::ALL.iter().filter(|operation| operation.is_inward()).map(|&o| o as i32).collect();
        assert_eq!(inward, [1, 3, 4, 9]);
    }
}
