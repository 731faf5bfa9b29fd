//! What UCX passes by address, as its header `ucp/api/ucp.h` has it since version 1.10; what it added since comes behind.

use std::ffi::c_void;

/// `ucp_request_param_t`: how something is to be done.
#[repr(C)]
pub(super) struct RequestParam {
    /// Which fields are set.
    set: u32,
    flags: u32,
    request: *mut c_void,
    callback: *mut c_void,
    datatype: u64,
}

/// `UCP_OP_ATTR_FIELD_DATATYPE`
const HAS_DATATYPE: u32 = 1 << 3;

/// `ucp_ep_params_t`: where an endpoint is to lead.
#[repr(C)]
pub(super) struct EndpointParams {
    set: u64,
    address: *const u8,
}

/// `UCP_EP_PARAM_FIELD_REMOTE_ADDRESS`
const HAS_REMOTE_ADDRESS: u64 = 1;

/// `ucp_worker_attr_t`: what is asked of a worker.
#[repr(C)]
pub(super) struct WorkerAttributes {
    wanted: u64,
    thread_mode: u32,
    address_flags: u32,
    address: *const u8,
    address_length: usize,
}

/// `UCP_WORKER_ATTR_FIELD_ADDRESS`
const WANTS_ADDRESS: u64 = 1 << 1;

/// `ucp_dt_iov_t`: a piece of what is sent.
#[repr(C)]
pub(super) struct Piece {
    buffer: *mut c_void,
    length: usize,
}

/// `ucp_generic_dt_ops_t`: how data of a type of the user's is packed.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Packing {
    start_pack: *const c_void,
    start_unpack: *const c_void,
    pub(super) packed_size: Option<PackedSize>,
    pack: *const c_void,
    unpack: *const c_void,
    finish: *const c_void,
}

/// How many bytes the data has when it is packed.
pub(super) type PackedSize = unsafe extern "C-unwind" fn(*mut c_void) -> usize;

/// `ucp_dt_make_contig(1)`: bytes.
pub(super) const BYTES: u64 = 1 << 3;
/// `UCP_DATATYPE_CLASS_MASK`
const CLASS: u64 = 7;
/// `UCP_DATATYPE_CONTIG`, `UCP_DATATYPE_IOV`, `UCP_DATATYPE_GENERIC`
const CONTIGUOUS: u64 = 0;
const PIECES: u64 = 2;
const GENERIC: u64 = 7;

impl RequestParam {
    /// The datatype; bytes where none is given.
    ///
    /// # Safety
    /// Null, or such a structure.
    pub(super) unsafe fn datatype(param: *const RequestParam) -> u64 {
        // SAFETY: as the caller promises.
        match unsafe { param.as_ref() } {
            Some(param) if param.set & HAS_DATATYPE != 0 => param.datatype,
            _ => BYTES,
        }
    }
}

impl EndpointParams {
    /// How the address of the worker begins that the endpoint is to lead to, where it is given by its address.
    ///
    /// # Safety
    /// `params` must be null or valid, and the address in it, if it is set, the address of a worker.
    pub(super) unsafe fn worker(params: *const EndpointParams) -> Option<u64> {
        // SAFETY: as the caller promises.
        let params = unsafe { params.as_ref() }?;
        let address = (params.set & HAS_REMOTE_ADDRESS != 0).then_some(params.address)?;
        // SAFETY: the address of a worker begins with its number of 64 bits, before which newer ones have a byte, and then has the devices.
        unsafe { begin_of(address, size_of::<u64>()) }
    }
}

impl WorkerAttributes {
    /// How the address begins, where it was asked for.
    ///
    /// # Safety
    /// Null, or such a structure that UCX has filled in.
    pub(super) unsafe fn worker(attributes: *const WorkerAttributes) -> Option<u64> {
        // SAFETY: as the caller promises.
        let attributes = unsafe { attributes.as_ref() }?;
        // SAFETY: UCX has set the address and its length.
        (attributes.wanted & WANTS_ADDRESS != 0)
            .then(|| unsafe { begin_of(attributes.address, attributes.address_length) })
            .flatten()
    }
}

/// How an address begins; `None` where it is shorter than a number.
///
/// # Safety
/// `address` must be null, or have `length` bytes.
pub(super) unsafe fn begin_of(address: *const u8, length: usize) -> Option<u64> {
    // SAFETY: as the caller promises.
    (!address.is_null() && length >= size_of::<u64>())
        .then(|| unsafe { address.cast::<u64>().read_unaligned() })
}

/// How many bytes `count` elements of a datatype have; of one of the user's what it has said itself: `packed`.
///
/// # Safety
/// `buffer` must be as UCX takes it with this datatype.
pub(super) unsafe fn bytes(buffer: *const c_void, count: usize, datatype: u64, packed: u64) -> u64 {
    match datatype & CLASS {
        CONTIGUOUS => (count as u64).saturating_mul(datatype >> CLASS.count_ones()),
        PIECES if count != 0 && !buffer.is_null() => {
            // SAFETY: the caller promises `count` pieces.
            let pieces = unsafe { std::slice::from_raw_parts(buffer.cast::<Piece>(), count) };
            pieces.iter().map(|piece| piece.length as u64).sum()
        }
        GENERIC => packed,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use super::*;

    #[test]
    fn bytes_are_those_of_the_datatype() {
        // SAFETY: of no type that is read here.
        let of = |count, datatype| unsafe { bytes(ptr::null(), count, datatype, 77) };
        assert_eq!((of(5, BYTES), of(5, 8 << 3), of(0, 8 << 3), of(5, GENERIC | 0x1000)), (5, 40, 0, 77));
        let pieces = [3, 0, 4].map(|length| Piece { buffer: ptr::null_mut(), length });
        // SAFETY: three pieces.
        assert_eq!(unsafe { bytes(pieces.as_ptr().cast(), 3, PIECES, 77) }, 7);
        assert_eq!((of(usize::MAX, !CLASS), of(3, PIECES)), (u64::MAX, 0));
    }

    #[test]
    fn what_is_not_set_is_not_read() {
        let null = ptr::null_mut();
        let param = |set| RequestParam { set, flags: 0, request: null, callback: null, datatype: 24 };
        // SAFETY: such a structure.
        let datatype = |param: &RequestParam| unsafe { RequestParam::datatype(param) };
        assert_eq!((datatype(&param(0)), datatype(&param(HAS_DATATYPE))), (BYTES, 24));
        // SAFETY: null is allowed.
        assert_eq!(unsafe { RequestParam::datatype(ptr::null()) }, BYTES);
        let address = 0x0102_0304_0506_0708_u64.to_ne_bytes();
        // SAFETY: null, or an address of eight bytes.
        let leads = |set, address| unsafe { EndpointParams::worker(&EndpointParams { set, address }) };
        assert_eq!(leads(0, address.as_ptr()), None);
        assert_eq!(leads(1, ptr::null()), None);
        assert_eq!(leads(1, address.as_ptr()), Some(0x0102_0304_0506_0708));
        // SAFETY: seven bytes of eight.
        assert_eq!(unsafe { begin_of(address.as_ptr(), 7) }, None);
    }
}
