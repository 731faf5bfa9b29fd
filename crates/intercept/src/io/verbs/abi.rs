//! The few structures of libibverbs that are read here, as `infiniband/verbs.h` has had them since version 1.1 of its symbols. A test
//! compiles the same places with the real header (`tests/programs/verbs/layout.c`).

use std::ffi::{c_int, c_uint};
use std::mem::offset_of;

/// `ibv_device`, up to its name.
#[repr(C)]
pub(super) struct Device {
    operations: [usize; 2],
    types: [c_int; 2],
    /// A C string.
    pub(super) name: [u8; 64],
}

/// `ibv_post_send`.
pub(super) type PostSend = unsafe extern "C-unwind" fn(*mut Qp, *mut SendWr, *mut *mut SendWr) -> c_int;

/// `ibv_context`, up to what is exchanged in it.
#[repr(C)]
pub(super) struct Context {
    pub(super) device: *const Device,
    before: [usize; 25],
    pub(super) post_send: Option<PostSend>,
}

/// What a queue pair, a protection domain and an address handle begin with.
#[repr(C)]
pub(super) struct OfContext {
    pub(super) context: *const Context,
}

/// `ibv_qp`, up to its type.
#[repr(C)]
pub(super) struct Qp {
    pub(super) of: OfContext,
    pointers: [usize; 5],
    handle: u32,
    number: u32,
    state: c_int,
    pub(super) kind: c_int,
}

/// `IBV_QPT_UD`: each request says whom it is for.
pub(super) const DATAGRAMS: c_int = 4;

/// `ibv_ah_attr`, with the `ibv_global_route` that it begins with.
#[repr(C, align(8))]
pub(super) struct Address {
    pub(super) gid: [u8; 16],
    flow_label: u32,
    pub(super) own_gid: u8,
    hops: u8,
    traffic_class: u8,
    pub(super) lid: u16,
    service: [u8; 3],
    pub(super) is_global: u8,
    pub(super) port: u8,
}

/// `ibv_qp_attr`, up to the port.
#[repr(C)]
pub(super) struct Attributes {
    states: [c_int; 4],
    keys: [u32; 3],
    destination: u32,
    access: c_uint,
    capacities: [u32; 5],
    pub(super) address: Address,
    alternative: Address,
    rest: [u8; 9],
    pub(super) port: u8,
}

/// `IBV_QP_PORT`: the port is set.
pub(super) const SETS_PORT: c_int = 1 << 5;
/// `IBV_QP_AV`: the address is set.
pub(super) const SETS_ADDRESS: c_int = 1 << 7;

/// `ibv_sge`.
#[repr(C)]
pub(super) struct Piece {
    pub(super) address: u64,
    pub(super) length: u32,
    key: u32,
}

/// `ibv_send_wr`, up to what is read of it.
#[repr(C)]
pub(super) struct SendWr {
    id: u64,
    pub(super) next: *mut SendWr,
    pub(super) pieces: *const Piece,
    pub(super) count: c_int,
    pub(super) opcode: c_int,
    flags: c_uint,
    immediate: u32,
    /// The remote address; of datagrams the address handle.
    pub(super) remote: u64,
}

const _: () = {
    assert!(offset_of!(Device, name) == 24);
    assert!(offset_of!(Context, post_send) == 208);
    assert!(offset_of!(Qp, kind) == 60);
    assert!(size_of::<Address>() == 32 && offset_of!(Address, own_gid) == 20);
    assert!(offset_of!(Address, lid) == 24 && offset_of!(Address, is_global) == 29);
    assert!(offset_of!(Address, port) == 30);
    assert!(offset_of!(Attributes, address) == 56);
    assert!(offset_of!(Attributes, port) == 129);
    assert!(size_of::<Piece>() == 16);
    assert!(offset_of!(SendWr, next) == 8 && offset_of!(SendWr, pieces) == 16);
    assert!(offset_of!(SendWr, count) == 24 && offset_of!(SendWr, opcode) == 28);
    assert!(offset_of!(SendWr, remote) == 40);
};
